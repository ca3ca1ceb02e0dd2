// SPDX-License-Identifier: GPL-2.0
/*
 * IAA driver with requests of several units: codes that all pages have in common
 *
 * They are made once, of pages of programs, text and a compiler's memory, by
 * tools/testing/scaleswap/canned.py. So compression passes over a page once, as with the fixed
 * codes of RFC 1951, and its output is shorter. A block's header, which says what the codes are, is
 * not stored. The device reads it once, and its decompressor's state after that is what each unit
 * begins with. Software reads it first each time.
 *
 * What is compressed so is no deflate without that header, so it has a name of its own.
 */
#include "iaa_batch.h"
#include "iaa_canned_tables.h"

/* It ends with a byte, so that what comes behind need not be shifted. */
const u8 *const iaa_header = iaa_canned_header;
const unsigned int iaa_header_size = sizeof(iaa_canned_header);

/**
 * iaa_canned_init - offer these codes to devices
 *
 * Context: may sleep. Before there are devices, and after the fixed mode.
 * Return: as add_iaa_compression_mode().
 */
int iaa_canned_init(void)
{
	return add_iaa_compression_mode("canned", iaa_canned_ll, sizeof(iaa_canned_ll),
					iaa_canned_dist, sizeof(iaa_canned_dist), NULL, NULL);
}

/**
 * iaa_canned_exit - offer them no more
 *
 * Context: may sleep. There are no devices.
 */
void iaa_canned_exit(void)
{
	remove_iaa_compression_mode("canned");
}
