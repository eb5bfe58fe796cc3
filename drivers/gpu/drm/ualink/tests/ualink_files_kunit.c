// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Files: what an accelerator shows of itself in debugfs and sysfs, what it does not
 * show, and what can be written there.
 */

#include <linux/debugfs.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/uaccess.h>

#include "ualink_mock.h"

/* Enough of them that a list does not fit into the first page of a reader. */
#define MANY		100
#define ROOM		SZ_64K

/* Two accelerators, the files of the first, and memory of a user to read them into. */
struct desk {
	struct kunit *test;
	struct ualink_mock_pod *pod;
	struct ualink_mock *a, *b;
	struct vfsmount *mnt;
	struct dentry *dir;
	unsigned long user;
	char *text;
};

static struct desk desk;

static void make_desk(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		kunit_skip(test, "no debugfs");

	desk.test = test;
	desk.pod = ualink_mock_pod_create(test, NULL, 2);
	desk.a = &desk.pod->nodes[0];
	desk.b = &desk.pod->nodes[1];
	desk.mnt = kern_mount(get_fs_type("debugfs"));
	if (IS_ERR(desk.mnt)) {
		desk.mnt = NULL;
		KUNIT_FAIL_AND_ABORT(test, "no mount of debugfs");
	}
	desk.dir = debugfs_create_dir("ualink-kunit", NULL);
	ualink_device_debugfs_init(desk.a->udev, desk.dir);
	desk.user = kunit_vm_mmap(test, NULL, 0, ROOM, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE(test, desk.user, 0);
	desk.text = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, desk.text);
}

/* The files go before the device. */
static void files_exit(struct kunit *test)
{
	debugfs_remove(desk.dir);
	if (desk.mnt)
		kern_unmount(desk.mnt);
	memset(&desk, 0, sizeof(desk));
	ualink_mock_exit(test);
}

static struct file *open_file(const char *name, int flags)
{
	struct dentry *dir = debugfs_lookup("ualink", desk.dir);
	struct path path = { .mnt = desk.mnt };
	struct file *file;

	KUNIT_ASSERT_NOT_NULL(desk.test, dir);
	path.dentry = debugfs_lookup(name, dir);
	dput(dir);
	KUNIT_ASSERT_NOT_NULL(desk.test, path.dentry);
	file = dentry_open(&path, flags, current_cred());
	dput(path.dentry);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(desk.test, file);
	return file;
}

static void close_file(struct file *file)
{
	filp_close(file, NULL);
	flush_delayed_fput();
}

/* All of a file, as a user reads it. */
static const char *read_file(const char *name)
{
	struct file *file = open_file(name, O_RDONLY);
	char __user *user = (char __user *)desk.user;
	size_t done = 0;
	loff_t pos = 0;
	ssize_t n;

	do {
		n = file->f_op->read(file, user + done, ROOM - 1 - done, &pos);
		KUNIT_EXPECT_GE(desk.test, n, 0);
		done += max(n, 0);
	} while (n > 0);
	close_file(file);
	KUNIT_EXPECT_EQ(desk.test, copy_from_user(desk.text, user, done), 0);
	desk.text[done] = 0;
	return desk.text;
}

static void write_file(const char *name, const char *text)
{
	struct file *file = open_file(name, O_WRONLY);
	char __user *user = (char __user *)desk.user;
	size_t len = strlen(text);
	loff_t pos = 0;

	KUNIT_EXPECT_EQ(desk.test, copy_to_user(user, text, len), 0);
	KUNIT_EXPECT_EQ(desk.test, file->f_op->write(file, user, len, &pos), len);
	close_file(file);
}

static unsigned int count_of(const char *text, const char *word)
{
	unsigned int n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

static void expect_count(const char *text, const char *word, unsigned int n)
{
	KUNIT_EXPECT_EQ_MSG(desk.test, count_of(text, word), n, "%s in:\n%.2000s", word, text);
}

/* Neither what makes a handle an authority nor where in the pod the memory is. */
static void expect_discreet(const char *text, struct ualink_mock_import *obj)
{
	char word[24];

	snprintf(word, sizeof(word), "%llx", obj->handle.secret);
	expect_count(text, word, 0);
	snprintf(word, sizeof(word), "%llx", obj->handle.tag);
	expect_count(text, word, 0);
	snprintf(word, sizeof(word), "%llx", obj->npa);
	expect_count(text, word, 0);
	snprintf(word, sizeof(word), "%llu", obj->npa);
	expect_count(text, word, 0);
}

static void files_exports(struct kunit *test)
{
	struct ualink_mock_mem *mem;
	const char *text;
	int i;

	make_desk(test);
	expect_count(read_file("exports"), "handle=", 0);
	for (i = 0; i < MANY; i++)
		mem = ualink_mock_export(desk.a);
	ualink_mock_export_with(desk.a, SZ_64K, true, NULL);
	ualink_mock_get(desk.b, mem);
	/* One that is over, but whose importer does not say so. */
	mem = ualink_mock_export(desk.a);
	expect_discreet(read_file("exports"), ualink_mock_get(desk.b, mem));
	ualink_mock_tune(desk.pod, UALINK_REVOKE_DEADLINE_MS, 10);
	ualink_mock_rule(desk.pod, UALINK_MOCK_DROP, UALINK_MSG_REVOKE_ACK, UALINK_MOCK_ANY,
			 UALINK_MOCK_ANY, UALINK_MOCK_ANY);
	ualink_export_end(mem->exp);
	UALINK_MOCK_EXPECT(test, READ_ONCE(mem->exp->state) == UALINK_EXPORT_QUARANTINED);

	text = read_file("exports");
	expect_count(text, "handle=", MANY + 2);
	expect_count(text, "state=ACTIVE size=4096 read_only=0 importers=0\n", MANY - 1);
	expect_count(text, "state=ACTIVE size=4096 read_only=0 importers=1\n", 1);
	expect_count(text, "state=ACTIVE size=65536 read_only=1 importers=0\n", 1);
	expect_count(text, "state=QUARANTINED size=4096 read_only=0 importers=1\n", 1);
}

static void files_imports(struct kunit *test)
{
	struct ualink_mock_import *obj;
	const char *text;
	int i;

	make_desk(test);
	expect_count(read_file("imports"), "handle=", 0);
	ualink_mock_tune(desk.pod, UALINK_CACHE_MS, 3600 * MSEC_PER_SEC);
	for (i = 0; i < MANY; i++)
		ualink_mock_get(desk.a, ualink_mock_export(desk.b));
	obj = ualink_mock_import_with(desk.a, ualink_mock_export(desk.b), UALINK_MOCK_RW, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_with(desk.a,
								   ualink_mock_export(desk.b),
								   UALINK_ACCESS_WRITE, 0));
	/* While the table grows, some can be there twice. */
	expect_discreet(read_file("imports"), obj);
	flush_work(&desk.a->udev->imports.ht.run_work);
	text = read_file("imports");
	expect_count(text, "exporter=1022 state=ACTIVE size=4096 access=r users=1 bound=1\n",
		     MANY);
	expect_count(text, "exporter=1022 state=ACTIVE size=4096 access=rw users=1 bound=1\n", 1);
	expect_count(text, "exporter=1022 state=ACTIVE size=4096 access=w users=1 bound=1\n", 1);

	ualink_mock_close(obj);
	text = read_file("imports");
	expect_count(text, "exporter=1022 state=IDLE size=4096 access=rw users=0 bound=0\n", 1);
	expect_count(read_file("counters"), "nr_idle_imports 1\nidle_bytes 4096\n", 1);
	write_file("drop_idle", "1");
	UALINK_MOCK_EXPECT(test, desk.a->udev->nr_import_records == MANY + 1);
	expect_count(read_file("imports"), "IDLE", 0);
	expect_count(read_file("counters"), "nr_idle_imports 0\nidle_bytes 0\n", 1);
}

static void files_peers(struct kunit *test)
{
	const char *text;

	make_desk(test);
	/* The connection to itself is one too. */
	text = read_file("peers");
	expect_count(text, "peer=", 1);
	expect_count(text, "peer=0 state=UP", 1);

	ualink_mock_get(desk.b, ualink_mock_export(desk.a));
	ualink_mock_settle(desk.pod);
	text = read_file("peers");
	expect_count(text, "peer=1022 state=UP", 1);
	expect_count(text, "gate=open imports=0 grants=1 unanswered=0 queued_replies=0", 1);
	expect_count(text, "sessions=1 bad_msgs=0 naks=0", 2);
	expect_count(text, "replies_lost=0 faults=0\n", 2);

	ualink_notify_link_down(desk.a->udev, desk.b->id);
	ualink_mock_settle(desk.pod);
	text = read_file("peers");
	expect_count(text, "peer=1022 state=DOWN session_age_ms=0", 1);
	expect_count(text, "gate=closed imports=0 grants=0", 1);
}

static void files_numbers(struct kunit *test)
{
	const char *text;

	make_desk(test);
	expect_count(read_file("npa"), "size 16777216\npage_size 4096\nused 0\nquarantined 0\n"
				       "largest_free 16773120\n", 1);
	ualink_mock_get(desk.b, ualink_mock_export(desk.a));
	ualink_mock_settle(desk.pod);
	expect_count(read_file("npa"), "used 4096\nquarantined 0\nlargest_free 16769024\n", 1);
	text = read_file("counters");
	expect_count(text, "nr_exports 1\nnr_active_exports 1\nnr_quarantined 0\nnr_grants 1\n"
			   "nr_imports 0\nnr_import_records 0\nexported_bytes 4096\n", 1);
	expect_count(text, "\nexports 1\nexports_ended 0\nimports 0\n", 1);
	/* More than one, if an answer was slow */
	expect_count(text, "\nsent_HELLO_ACK 0\n", 0);
	expect_count(text, "\nsent_HELLO_ACK ", 1);
	expect_count(text, "\nreceived_IMPORT_REQ 0\n", 0);
	expect_count(text, "\nreceived_IMPORT_REQ ", 1);
	expect_count(text, "\nsent_NAK 0\n", 1);
	expect_count(text, "?", 0);
}

static struct attribute *find_attr(struct ualink_device *udev, const char *name)
{
	struct attribute **attr = udev->kobj.ktype->default_groups[0]->attrs;

	while (*attr && strcmp((*attr)->name, name))
		attr++;
	return *attr;
}

/* A page of its own is what sysfs gives, and sysfs_emit() wants. */
static char *sysfs_page(struct kunit *test)
{
	char *page = (char *)__get_free_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page;
}

static void expect_sysfs(struct ualink_mock *node, const char *name, const char *value)
{
	struct kobject *kobj = &node->udev->kobj;
	struct kunit *test = node->pod->test;
	struct attribute *attr = find_attr(node->udev, name);
	char *page = sysfs_page(test);
	ssize_t n;

	n = attr ? kobj->ktype->sysfs_ops->show(kobj, attr, page) : -ENOENT;
	KUNIT_EXPECT_EQ_MSG(test, n, strlen(value), "%s", name);
	if (n > 0)
		KUNIT_EXPECT_STREQ_MSG(test, page, value, "%s", name);
	free_page((unsigned long)page);
}

static ssize_t store_sysfs(struct ualink_mock *node, const char *name, const char *value)
{
	struct kobject *kobj = &node->udev->kobj;

	return kobj->ktype->sysfs_ops->store(kobj, find_attr(node->udev, name), value,
					     strlen(value));
}

static void files_sysfs(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *b = &pod->nodes[1];

	expect_sysfs(b, "id", "1022\n");
	expect_sysfs(b, "vpod_id", "5ac3e10d-7f41-4c1e-935d-20b86e04d700\n");
	expect_sysfs(b, "page_size", "4096\n");
	expect_sysfs(b, "segment_size", "16777216\n");
	expect_sysfs(b, "state", "active\n");
	ualink_mock_fail(b, UALINK_MOCK_FLUSH, -EIO, 1);
	ualink_export_end(ualink_mock_export(b)->exp);
	UALINK_MOCK_EXPECT(test, READ_ONCE(b->udev->wedged));
	expect_sysfs(b, "state", "wedged\n");
	ualink_device_deactivate(b->udev);
	ualink_mock_reset(b);
	KUNIT_EXPECT_EQ(test, ualink_device_activate(b->udev), 0);
	ualink_device_deactivate(b->udev);
	expect_sysfs(b, "state", "inactive\n");
}

/* What is not a number, or not one that makes sense, changes nothing. */
static void files_tunables(struct kunit *test)
{
	static const struct {
		const char *name;
		enum ualink_tunable which;
		bool time, zero;
	} files[] = {
		{ "heartbeat_ms", UALINK_HEARTBEAT_MS, true, false },
		{ "request_ms", UALINK_REQUEST_MS, true, false },
		{ "revoke_grace_ms", UALINK_REVOKE_GRACE_MS, true, true },
		{ "revoke_deadline_ms", UALINK_REVOKE_DEADLINE_MS, true, false },
		{ "peer_timeout_ms", UALINK_PEER_TIMEOUT_MS, true, false },
		{ "cache_bytes", UALINK_CACHE_BYTES, false, true },
		{ "cache_ms", UALINK_CACHE_MS, true, true },
		{ "max_export_bytes", UALINK_MAX_EXPORT_BYTES, false, true },
	};
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 1);
	struct ualink_mock *node = &pod->nodes[0];
	int i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		const char *name = files[i].name;

		KUNIT_EXPECT_EQ(test, store_sysfs(node, name, "3600000\n"), 8);
		expect_sysfs(node, name, "3600000\n");
		KUNIT_EXPECT_EQ(test, ualink_device_tunable(node->udev, files[i].which), 3600000);
		KUNIT_EXPECT_EQ(test, store_sysfs(node, name, "many\n"), -EINVAL);
		KUNIT_EXPECT_EQ(test, store_sysfs(node, name, "-1\n"), -EINVAL);
		KUNIT_EXPECT_EQ(test, store_sysfs(node, name, "18446744073709551616\n"), -ERANGE);
		expect_sysfs(node, name, "3600000\n");
		KUNIT_EXPECT_EQ(test, store_sysfs(node, name, "3600001\n"),
				files[i].time ? -EINVAL : 8);
		KUNIT_EXPECT_EQ(test, store_sysfs(node, name, "0\n"), files[i].zero ? 2 : -EINVAL);
		expect_sysfs(node, name, files[i].zero ? "0\n" : "3600000\n");
	}
	KUNIT_EXPECT_EQ(test, ualink_device_set_tunable(node->udev, UALINK_TUNABLES, 1), -EINVAL);
}

static struct kunit_case ualink_files_cases[] = {
	KUNIT_CASE(files_exports),
	KUNIT_CASE(files_imports),
	KUNIT_CASE(files_peers),
	KUNIT_CASE(files_numbers),
	KUNIT_CASE(files_sysfs),
	KUNIT_CASE(files_tunables),
	{}
};

static struct kunit_suite ualink_files_suite = {
	.name = "ualink_files",
	.exit = files_exit,
	.test_cases = ualink_files_cases,
};

kunit_test_suite(ualink_files_suite);
