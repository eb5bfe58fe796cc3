// SPDX-License-Identifier: MIT
/*
 * What the firmware of a GPU would give the driver: the IP discovery table in VRAM, and files for
 * its engines. The latter have valid headers and nothing behind them.
 */
#include <stdio.h>
#include <string.h>

#include "emu.h"

/* kernel headers, which expect others to have been included */
#define __counted_by(member)
#define DECLARE_FLEX_ARRAY(type, name) type name[0]
#include "discovery.h"
#include "soc15_hw_ip.h"

struct ip_block {
	const char *name;
	uint16_t hwid;
	uint8_t version[3];
	uint8_t bases;
	uint32_t base[10];
};

static const struct ip_block blocks[] = {
#include "ips_gen.h"
};

static uint16_t sum(const void *data, size_t size)
{
	const uint8_t *byte = data;
	uint16_t total = 0;

	while (size--)
		total = (uint16_t)(total + *byte++);
	return total;
}

static size_t put_blocks(struct pod *pod, uint8_t *at)
{
	/* the UALink block is the last one */
	size_t count = ARRAY_SIZE(blocks) - !pod->ualink, i;
	die_header die = { .num_ips = (uint16_t)count };
	uint8_t *start = at;

	memcpy(at, &die, sizeof(die));
	at += sizeof(die);
	for (i = 0; i < count; i++) {
		ip_v3 ip = {
			.hw_id = blocks[i].hwid, .num_base_address = blocks[i].bases,
			.major = blocks[i].version[0], .minor = blocks[i].version[1],
			.revision = blocks[i].version[2],
		};

		memcpy(at, &ip, sizeof(ip));
		at += sizeof(ip);
		memcpy(at, blocks[i].base, blocks[i].bases * 4u);
		at += blocks[i].bases * 4u;
	}
	return (size_t)(at - start);
}

static size_t put_ips(struct pod *pod, uint8_t *table, size_t offset)
{
	ip_discovery_header header = {
		.signature = DISCOVERY_TABLE_SIGNATURE, .version = 3, .num_dies = 1,
	};
	size_t size = sizeof(header) + put_blocks(pod, table + offset + sizeof(header));

	header.size = (uint16_t)size;
	header.die_info[0].die_offset = (uint16_t)(offset + sizeof(header));
	memcpy(table + offset, &header, sizeof(header));
	return size;
}

/* One shader engine; what no test depends on is what the driver divides by. */
static size_t put_gc(uint8_t *table, size_t offset)
{
	struct gc_info_v2_0 info = {
		.header = { .table_id = 0x4347, .version_major = 2, .size = sizeof(info) },
		.gc_num_se = 1, .gc_num_cu_per_sh = 4, .gc_num_sh_per_se = 1,
		.gc_num_rb_per_se = 1, .gc_num_tccs = 16, .gc_num_gprs = 0x40,
		.gc_num_max_gs_thds = 0x20, .gc_gs_table_depth = 0x20,
		.gc_gsprim_buff_depth = 0x720, .gc_parameter_cache_depth = 0x10,
		.gc_double_offchip_lds_buffer = 1, .gc_wave_size = 64,
		.gc_max_waves_per_simd = 8, .gc_max_scratch_slots_per_cu = 32,
		.gc_lds_size = 64, .gc_num_sc_per_se = 1,
	};

	memcpy(table + offset, &info, sizeof(info));
	return sizeof(info);
}

static size_t put_harvest(uint8_t *table, size_t offset)
{
	harvest_table harvest = { .header = { .signature = HARVEST_TABLE_SIGNATURE } };

	memcpy(table + offset, &harvest, sizeof(harvest));
	return sizeof(harvest);
}

/* Return: its size in bytes */
size_t discovery_table(struct pod *pod, uint8_t *table, size_t size)
{
	binary_header header = { .binary_signature = BINARY_SIGNATURE, .version_major = 1 };
	size_t summed = offsetof(binary_header, binary_checksum) + sizeof(header.binary_checksum);
	size_t offset = sizeof(header), part;
	unsigned int i;

	memset(table, 0, size);
	for (i = IP_DISCOVERY; i <= HARVEST_INFO; i++) {
		part = i == IP_DISCOVERY ? put_ips(pod, table, offset) :
		       i == GC ? put_gc(table, offset) : put_harvest(table, offset);
		header.table_list[i] = (table_info){
			.offset = (uint16_t)offset, .size = (uint16_t)part,
			.checksum = sum(table + offset, part),
		};
		offset += part;
	}
	header.binary_size = (uint16_t)offset;
	memcpy(table, &header, sizeof(header));
	header.binary_checksum = sum(table + summed, offset - summed);
	memcpy(table, &header, sizeof(header));
	return offset;
}

/* ---- files ---- */

/* struct common_firmware_header of amdgpu_ucode.h, and room for those that extend it */
struct firmware {
	uint32_t size_bytes;
	uint32_t header_size_bytes;
	uint16_t header_version_major;
	uint16_t header_version_minor;
	uint16_t ip_version_major;
	uint16_t ip_version_minor;
	uint32_t ucode_version;
	uint32_t ucode_size_bytes;
	uint32_t ucode_array_offset_bytes;
	uint32_t crc32;
	uint32_t feature_version;
	uint8_t rest[256 - 36];
	uint8_t ucode[4096];
};

static bool firmware_file(const char *dir, const char *name, uint16_t major, uint32_t ucode_size)
{
	struct firmware fw = {
		.header_size_bytes = offsetof(struct firmware, ucode),
		.header_version_major = major, .ucode_version = 1,
		.ucode_size_bytes = ucode_size,
		.ucode_array_offset_bytes = offsetof(struct firmware, ucode),
		.feature_version = 1,
	};
	char path[4096];
	FILE *file;
	bool done;

	fw.size_bytes = fw.header_size_bytes + ucode_size;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");
	if (!file)
		return false;
	done = fwrite(&fw, fw.size_bytes, 1, file) == 1;
	return !fclose(file) && done;
}

static bool table_file(struct pod *pod, const char *dir)
{
	uint8_t table[PAGE_SIZE];
	size_t size = discovery_table(pod, table, sizeof(table));
	char path[4096];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "%s/ip_discovery.bin", dir);
	file = fopen(path, "wb");
	if (!file)
		return false;
	done = fwrite(table, size, 1, file) == 1;
	return !fclose(file) && done;
}

/* Writes what belongs into lib/firmware/amdgpu of a guest. */
bool firmware_write(struct pod *pod, const char *dir)
{
	return firmware_file(dir, "sdma_4_4_5.bin", 1, 64) &&
	       firmware_file(dir, "gc_9_5_0_mec.bin", 1, 4096) &&
	       firmware_file(dir, "gc_9_5_0_rlc.bin", 2, 64) && table_file(pod, dir);
}
