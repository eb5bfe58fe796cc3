// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_ualink.h>
#include <drm/vualink_drm.h>

#include "vualink_device.h"
#include "vualink_file.h"
#include "vualink_job.h"
#include "vualink_vm.h"

static void vualink_file_free(struct kref *ref)
{
	struct vualink_file *vfile = container_of(ref, struct vualink_file, ref);

	xa_destroy(&vfile->vms);
	mutex_destroy(&vfile->submit_lock);
	vualink_fault_log_fini(&vfile->faults);
	kfree(vfile);
}

struct vualink_file *vualink_file_get(struct vualink_file *vfile)
{
	kref_get(&vfile->ref);
	return vfile;
}

void vualink_file_put(struct vualink_file *vfile)
{
	kref_put(&vfile->ref, vualink_file_free);
}

int vualink_file_open(struct drm_device *drm, struct drm_file *file)
{
	struct vualink_device *vdev = to_vualink(drm);
	struct drm_gpu_scheduler *sched = &vdev->sched;
	struct vualink_file *vfile;
	int ret;

	vfile = kzalloc_obj(*vfile, GFP_KERNEL_ACCOUNT);
	if (!vfile)
		return -ENOMEM;
	kref_init(&vfile->ref);
	vfile->vdev = vdev;
	vfile->fence_context = dma_fence_context_alloc(1);
	xa_init_flags(&vfile->vms, XA_FLAGS_ALLOC1);
	mutex_init(&vfile->submit_lock);
	vualink_fault_log_init(&vfile->faults);
	ret = drm_sched_entity_init(&vfile->entity, DRM_SCHED_PRIORITY_NORMAL,
				    &sched, 1, NULL);
	if (ret) {
		vualink_file_put(vfile);
		return ret;
	}
	file->driver_priv = vfile;
	return 0;
}

/*
 * Ends the jobs of the file, whatever they wait for, and leaves its VMs to the
 * last of them.
 */
void vualink_file_close(struct drm_device *drm, struct drm_file *file)
{
	struct vualink_file *vfile = file->driver_priv;
	struct vualink_vm *vm;
	unsigned long id;

	drm_sched_entity_fini(&vfile->entity);
	vualink_jobs_cancel(vfile->vdev, vfile);
	xa_for_each(&vfile->vms, id, vm)
		vualink_vm_put(vm);
	xa_destroy(&vfile->vms);
	vualink_file_put(vfile);
	drm_ualink_postclose(drm, file);
}

/* Return: the VM with one user more, or NULL */
struct vualink_vm *vualink_file_get_vm(struct vualink_file *vfile, u32 vm_id)
{
	struct vualink_vm *vm;

	xa_lock(&vfile->vms);
	vm = xa_load(&vfile->vms, vm_id);
	if (vm)
		vualink_vm_get(vm);
	xa_unlock(&vfile->vms);
	return vm;
}

int vualink_vm_create_ioctl(struct drm_device *drm, void *data,
			    struct drm_file *file)
{
	struct vualink_file *vfile = file->driver_priv;
	struct drm_vualink_vm_create *args = data;
	struct vualink_vm *vm;
	int ret;

	if (args->flags)
		return -EINVAL;
	vm = vualink_vm_create(vfile);
	if (IS_ERR(vm))
		return PTR_ERR(vm);
	ret = xa_alloc(&vfile->vms, &args->vm_id, vm, xa_limit_31b,
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		vualink_vm_put(vm);
	return ret;
}

int vualink_vm_destroy_ioctl(struct drm_device *drm, void *data,
			     struct drm_file *file)
{
	struct vualink_file *vfile = file->driver_priv;
	struct drm_vualink_vm_destroy *args = data;
	struct vualink_vm *vm;

	if (args->pad)
		return -EINVAL;
	vm = xa_erase(&vfile->vms, args->vm_id);
	if (!vm)
		return -ENOENT;
	vualink_vm_put(vm);
	return 0;
}
