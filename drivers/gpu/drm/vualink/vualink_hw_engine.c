// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-fence.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "vualink_hw_internal.h"

/**
 * DOC: Copy engine
 *
 * One worker runs the jobs of an accelerator in the order in which they were
 * submitted, a step at a time: a step moves the bytes up to the next page
 * boundary, so it holds the locks of at most one access, then another. A wait
 * that is not satisfied is a step as well: it holds nothing, and a timer starts
 * the worker again.
 *
 * Between two steps the worker looks for jobs that were cancelled. Whatever the
 * reason for which a job ends, only the worker raises its interrupt, and it
 * does so after the slot of the job is free for the next one.
 */

/* Bounds of the time between two looks at what a job waits for */
#define ENGINE_POLL_MIN_US	20
#define ENGINE_POLL_MAX_US	1000

static struct vualink_hw *engine_to_hw(struct vualink_engine *engine)
{
	return container_of(engine, struct vualink_hw, engine);
}

static void engine_kick(struct vualink_engine *engine)
{
	queue_work(engine_to_hw(engine)->params.fabric->wq, &engine->work);
}

/* Commands. Each step returns 0 at the end of the command, or an error, or: */

#define ENGINE_STEP_MORE	1	/* the command has more to do */
#define ENGINE_STEP_POLL	2	/* what it waits for did not happen */

static int engine_job_fault(struct vualink_engine *engine,
			    struct vualink_hw_job *job, u64 va, bool write,
			    enum vualink_hw_fault_reason reason)
{
	atomic64_inc(&engine_to_hw(engine)->stats.faults);
	job->fault = (struct vualink_hw_fault) {
		.va = va,
		.reason = reason,
		.vmid = job->vmid,
		.write = write,
	};
	return -EFAULT;
}

static int engine_job_access(struct vualink_engine *engine,
			     struct vualink_hw_job *job,
			     struct vualink_access *access)
{
	bool write = access->op != VUALINK_READ && access->op != VUALINK_LOAD;
	enum vualink_hw_fault_reason reason;

	access->vmid = job->vmid;
	reason = vualink_hw_access(engine_to_hw(engine), access);
	if (!reason)
		return 0;
	return engine_job_fault(engine, job, access->va, write, reason);
}

static int engine_job_access_word(struct vualink_engine *engine,
				  struct vualink_hw_job *job,
				  enum vualink_access_op op, u64 va,
				  u64 *value)
{
	struct vualink_access access = {
		.op = op,
		.va = va,
		.len = sizeof(*value),
		.value = *value,
	};
	int ret;

	if (!IS_ALIGNED(va, sizeof(*value)))
		return engine_job_fault(engine, job, va, op != VUALINK_LOAD,
					VUALINK_HW_FAULT_ALIGN);
	ret = engine_job_access(engine, job, &access);
	*value = access.value;
	return ret;
}

static int engine_job_access_buf(struct vualink_engine *engine,
				 struct vualink_hw_job *job,
				 enum vualink_access_op op, u64 va, u32 len)
{
	struct vualink_access access = {
		.op = op,
		.va = va,
		.len = len,
		.buf = engine->buf,
	};

	return engine_job_access(engine, job, &access);
}

/* Bytes until the end of the command or of the page that @va is in */
static u32 engine_step_bytes(const struct vualink_hw_job *job,
			     const struct vualink_hw_cmd *cmd, u64 va)
{
	u64 page = VUALINK_PAGE_SIZE - (va & (VUALINK_PAGE_SIZE - 1));

	return min(cmd->len - job->done, page);
}

static int engine_step_end(struct vualink_hw_job *job,
			   const struct vualink_hw_cmd *cmd, u32 bytes)
{
	job->done += bytes;
	return job->done < cmd->len ? ENGINE_STEP_MORE : 0;
}

static int engine_step_copy(struct vualink_engine *engine,
			    struct vualink_hw_job *job,
			    const struct vualink_hw_cmd *cmd)
{
	u64 src = cmd->src + job->done, dst = cmd->dst + job->done;
	u32 bytes = min(engine_step_bytes(job, cmd, src),
			engine_step_bytes(job, cmd, dst));
	int ret;

	if (!bytes)
		return 0;
	ret = engine_job_access_buf(engine, job, VUALINK_READ, src, bytes);
	if (!ret)
		ret = engine_job_access_buf(engine, job, VUALINK_WRITE, dst,
					    bytes);
	return ret ?: engine_step_end(job, cmd, bytes);
}

static int engine_step_fill(struct vualink_engine *engine,
			    struct vualink_hw_job *job,
			    const struct vualink_hw_cmd *cmd)
{
	u64 dst = cmd->dst + job->done;
	u32 bytes = engine_step_bytes(job, cmd, dst);
	int ret;

	if (!IS_ALIGNED(cmd->dst | cmd->len, sizeof(u32)))
		return engine_job_fault(engine, job, cmd->dst, true,
					VUALINK_HW_FAULT_ALIGN);
	if (!bytes)
		return 0;
	memset32(engine->buf, cmd->value, bytes / sizeof(u32));
	ret = engine_job_access_buf(engine, job, VUALINK_WRITE, dst, bytes);
	return ret ?: engine_step_end(job, cmd, bytes);
}

static int engine_step_add(struct vualink_engine *engine,
			   struct vualink_hw_job *job,
			   const struct vualink_hw_cmd *cmd)
{
	u64 value = cmd->value;
	int ret;

	ret = engine_job_access_word(engine, job, VUALINK_ADD, cmd->dst,
				     &value);
	if (ret || !cmd->src)
		return ret;
	return engine_job_access_word(engine, job, VUALINK_STORE, cmd->src,
				      &value);
}

static int engine_step_wait(struct vualink_engine *engine,
			    struct vualink_hw_job *job,
			    const struct vualink_hw_cmd *cmd)
{
	ktime_t now = ktime_get();
	u64 value;
	int ret;

	if (!job->polls)
		job->deadline = ktime_add_ms(now, cmd->timeout_ms);
	ret = engine_job_access_word(engine, job, VUALINK_LOAD, cmd->dst,
				     &value);
	if (ret || value >= cmd->value)
		return ret;
	job->polls++;
	return ktime_before(now, job->deadline) ? ENGINE_STEP_POLL : -ETIME;
}

static int engine_job_step(struct vualink_engine *engine,
			   struct vualink_hw_job *job)
{
	const struct vualink_hw_cmd *cmd = &job->cmds[job->cmd];
	u64 value = cmd->value;

	switch (cmd->op) {
	case VUALINK_HW_COPY:
		return engine_step_copy(engine, job, cmd);
	case VUALINK_HW_FILL:
		return engine_step_fill(engine, job, cmd);
	case VUALINK_HW_ATOMIC_ADD:
		return engine_step_add(engine, job, cmd);
	case VUALINK_HW_WAIT:
		return engine_step_wait(engine, job, cmd);
	case VUALINK_HW_STORE:
		return engine_job_access_word(engine, job, VUALINK_STORE,
					      cmd->dst, &value);
	default:
		return -EINVAL;
	}
}

/* Jobs */

static void engine_job_end(struct vualink_engine *engine,
			   struct vualink_hw_job *job, int error)
{
	lockdep_assert_held(&engine->lock);
	job->error = error;
	list_move_tail(&job->link, &engine->ended);
}

/* Takes the jobs that shall not run out of the queue. */
static void engine_sort(struct vualink_engine *engine)
{
	struct vualink_hw_job *job, *next;

	lockdep_assert_held(&engine->lock);
	if (!engine->attention)
		return;
	engine->attention = false;
	list_for_each_entry_safe(job, next, &engine->lost, link)
		if (job->state == VUALINK_HW_JOB_CANCEL)
			engine_job_end(engine, job, -ECANCELED);
	list_for_each_entry_safe(job, next, &engine->queue, link) {
		if (job->state == VUALINK_HW_JOB_CANCEL)
			engine_job_end(engine, job, -ECANCELED);
		else if (job->state == VUALINK_HW_JOB_LOSE)
			list_move_tail(&job->link, &engine->lost);
	}
}

/* Raises the interrupts of the jobs that ended. */
static void engine_retire(struct vualink_engine *engine)
{
	const struct vualink_hw_params *params = &engine_to_hw(engine)->params;
	struct vualink_hw_job *job, done;

	lockdep_assert_held(&engine->lock);
	while (!list_empty(&engine->ended)) {
		job = list_first_entry(&engine->ended, typeof(*job), link);
		done = *job;
		list_move(&job->link, &engine->free);
		spin_unlock_irq(&engine->lock);
		params->irq->done(params->data, done.seqno, done.error,
				  done.error == -EFAULT ? &done.fault : NULL);
		spin_lock_irq(&engine->lock);
	}
}

static struct vualink_hw_job *engine_next(struct vualink_engine *engine)
{
	struct vualink_hw_job *job;

	spin_lock_irq(&engine->lock);
	engine_sort(engine);
	engine_retire(engine);
	job = list_first_entry_or_null(&engine->queue, typeof(*job), link);
	spin_unlock_irq(&engine->lock);
	return job;
}

static void engine_finish(struct vualink_engine *engine,
			  struct vualink_hw_job *job, int error)
{
	spin_lock_irq(&engine->lock);
	/* A crash that came during the last step takes the job all the same. */
	if (job->state == VUALINK_HW_JOB_RUN)
		engine_job_end(engine, job, error);
	spin_unlock_irq(&engine->lock);
}

static void engine_poll_later(struct vualink_engine *engine,
			      struct vualink_hw_job *job)
{
	u64 us = min((u64)job->polls * ENGINE_POLL_MIN_US, ENGINE_POLL_MAX_US);

	hrtimer_start(&engine->poll, us_to_ktime(us), HRTIMER_MODE_REL);
}

/* Return: whether there is more to do now. */
static bool engine_run(struct vualink_engine *engine)
{
	struct vualink_hw_job *job = engine_next(engine);
	int ret;

	if (!job)
		return false;
	ret = job->cmd < job->count ? engine_job_step(engine, job) : 0;
	if (ret == ENGINE_STEP_POLL) {
		engine_poll_later(engine, job);
		return false;
	}
	if (ret == ENGINE_STEP_MORE)
		return true;
	if (!ret && job->cmd + 1 < job->count) {
		job->cmd++;
		job->done = 0;
		job->polls = 0;
		return true;
	}
	engine_finish(engine, job, ret);
	return true;
}

static void engine_work(struct work_struct *work)
{
	struct vualink_engine *engine = container_of(work, typeof(*engine),
						     work);
	bool cookie, more;

	do {
		/* The driver signals the fence of the job in its interrupt. */
		cookie = dma_fence_begin_signalling();
		more = engine_run(engine);
		dma_fence_end_signalling(cookie);
		cond_resched();
	} while (more);
}

static enum hrtimer_restart engine_poll(struct hrtimer *timer)
{
	engine_kick(container_of(timer, struct vualink_engine, poll));
	return HRTIMER_NORESTART;
}

static bool engine_cmds_are_valid(const struct vualink_hw_cmd *cmds, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (cmds[i].op > VUALINK_HW_STORE)
			return false;
	return true;
}

/**
 * vualink_hw_submit() - give a job to the copy engine
 * @hw: accelerator
 * @vmid: address space that the job runs in
 * @seqno: names the job in vualink_hw_cancel() and in the interrupt
 * @cmds: commands; belong to the caller and stay valid until the interrupt
 * @count: number of commands; a job without any ends with success
 *
 * Does not sleep or allocate. Jobs run in the order of submission.
 *
 * Return: 0, and &vualink_hw_irq_ops.done follows; -EINVAL if @vmid or a
 * command is none; -ENOSPC if the engine has %VUALINK_HW_JOBS jobs.
 */
int vualink_hw_submit(struct vualink_hw *hw, u32 vmid, u64 seqno,
		      const struct vualink_hw_cmd *cmds, u32 count)
{
	struct vualink_engine *engine = &hw->engine;
	struct vualink_hw_job *job;
	unsigned long flags;

	if (!vmid || vmid >= VUALINK_HW_VMIDS ||
	    !engine_cmds_are_valid(cmds, count))
		return -EINVAL;

	spin_lock_irqsave(&engine->lock, flags);
	job = list_first_entry_or_null(&engine->free, typeof(*job), link);
	if (job) {
		job->state = VUALINK_HW_JOB_RUN;
		job->vmid = vmid;
		job->seqno = seqno;
		job->cmds = cmds;
		job->count = count;
		job->cmd = 0;
		job->done = 0;
		job->polls = 0;
		list_move_tail(&job->link, &engine->queue);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	if (!job)
		return -ENOSPC;
	engine_kick(engine);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_submit);

static void engine_jobs_mark(struct vualink_engine *engine,
			     struct list_head *jobs, const u64 *seqno,
			     enum vualink_hw_job_state state)
{
	struct vualink_hw_job *job;

	lockdep_assert_held(&engine->lock);
	list_for_each_entry(job, jobs, link) {
		/* A crash does not take back that a job was cancelled. */
		if (job->state == VUALINK_HW_JOB_CANCEL ||
		    (seqno && job->seqno != *seqno))
			continue;
		job->state = state;
		engine->attention = true;
	}
}

/* Cancels the job with a number, or all. */
static void engine_cancel(struct vualink_engine *engine,
			  const u64 *seqno)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine_jobs_mark(engine, &engine->queue, seqno, VUALINK_HW_JOB_CANCEL);
	engine_jobs_mark(engine, &engine->lost, seqno, VUALINK_HW_JOB_CANCEL);
	spin_unlock_irqrestore(&engine->lock, flags);
	engine_kick(engine);
}

/**
 * vualink_hw_cancel() - end a job early
 * @hw: accelerator
 * @seqno: the job; if it has ended already, nothing happens
 *
 * The job ends with -ECANCELED after the step that it is at. Does not sleep,
 * and does not wait: the interrupt comes in any case, soon.
 */
void vualink_hw_cancel(struct vualink_hw *hw, u64 seqno)
{
	engine_cancel(&hw->engine, &seqno);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_cancel);

/**
 * vualink_hw_drain() - wait for what was cancelled
 * @hw: accelerator
 *
 * Returns when the interrupts of all jobs have come for which
 * vualink_hw_cancel() was called before. If these were all there are, the engine
 * is idle then: no access of it is under way. May sleep.
 */
void vualink_hw_drain(struct vualink_hw *hw)
{
	flush_work(&hw->engine.work);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_drain);

/* Cancels all jobs, and returns when their interrupts have come. */
void vualink_engine_reset(struct vualink_engine *engine)
{
	engine_cancel(engine, NULL);
	flush_work(&engine->work);
}

/* Stops all jobs where they are, and returns when none runs. */
void vualink_engine_crash(struct vualink_engine *engine)
{
	spin_lock_irq(&engine->lock);
	engine_jobs_mark(engine, &engine->queue, NULL, VUALINK_HW_JOB_LOSE);
	spin_unlock_irq(&engine->lock);
	engine_kick(engine);
	flush_work(&engine->work);
}

int vualink_engine_init(struct vualink_engine *engine)
{
	u32 i;

	engine->buf = kmalloc(VUALINK_PAGE_SIZE, GFP_KERNEL);
	if (!engine->buf)
		return -ENOMEM;
	spin_lock_init(&engine->lock);
	INIT_LIST_HEAD(&engine->free);
	INIT_LIST_HEAD(&engine->queue);
	INIT_LIST_HEAD(&engine->lost);
	INIT_LIST_HEAD(&engine->ended);
	for (i = 0; i < VUALINK_HW_JOBS; i++)
		list_add_tail(&engine->jobs[i].link, &engine->free);
	INIT_WORK(&engine->work, engine_work);
	hrtimer_setup(&engine->poll, engine_poll, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	return 0;
}

/* Ends the engine. Nothing of it runs any more; nothing may be submitted. */
void vualink_engine_fini(struct vualink_engine *engine)
{
	vualink_engine_reset(engine);
	hrtimer_cancel(&engine->poll);
	/* The timer may have started the worker once more, for nothing. */
	cancel_work_sync(&engine->work);
	kfree(engine->buf);
}
