// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: KUnit
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: kunit
 * Functionality: ualink
 * Feature: ualink
 * Description: The unit tests of the kernel.
 * Test category: functionality test
 *
 * SUBTEST: ualink
 * Description: The core: messages, sessions, exports, imports, revocation, quarantine.
 *
 * SUBTEST: drm_ualink
 * Description: The helpers of DRM drivers, with a mock driver.
 *
 * SUBTEST: vualink_config
 * Description: How pods of virtual accelerators are described.
 *
 * SUBTEST: vualink_hw
 * Description: The model of accelerators and of the fabric.
 *
 * SUBTEST: vualink_pt
 * Description: The page tables of virtual accelerators.
 */
#include "igt.h"
#include "igt_kmod.h"

IGT_TEST_DESCRIPTION("The unit tests of UALink memory sharing in the kernel.");

int igt_main()
{
	igt_kunit("ualink_kunit", NULL, NULL);
	igt_kunit("drm_ualink_kunit", NULL, NULL);
	igt_kunit("vualink_config_kunit", NULL, NULL);
	igt_kunit("vualink_hw_kunit", NULL, NULL);
	igt_kunit("vualink_pt_kunit", NULL, NULL);
}
