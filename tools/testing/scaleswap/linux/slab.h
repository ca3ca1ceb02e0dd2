/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_SLAB_H
#define _SSW_TEST_SLAB_H

#include <linux/gfp.h>

struct kmem_cache *ssw_cache_create(size_t size);
#define KMEM_CACHE(type, flags)		((void)(flags), ssw_cache_create(sizeof(struct type)))
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp);
void kmem_cache_free(struct kmem_cache *cache, void *p);

#endif
