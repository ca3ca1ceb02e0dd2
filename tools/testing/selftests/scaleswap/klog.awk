# SPDX-License-Identifier: GPL-2.0
# Print a kernel log without two warnings for which the base kernel is to blame.
#
# Each CPU has a fair server: a deadline entity that runs fair tasks when real-time tasks
# leave them no time. 1: Linux 6.12 counts it as one more running task. Its timer may expire
# while stop_machine() waits to take the CPU offline. Then sched_cpu_dying() counts two
# tasks, warns "Dying CPU not properly vacated!", and lists only the stopper. This happens
# in slow guests. The mend was posted on 2025-06-27: "sched/deadline: Don't count
# nr_running twice for dl_server proxy tasks".
#
# If a thread is left on the CPU, the list has it. Then the warning is printed, as it is
# if there is no list.
#
# 2: sched_cpu_dying() stops the server of a CPU that goes offline, also one that was stopped
# before: dl_server_stop() of Linux 6.12 does not look. If the server has run for a while and
# was stopped within the last second, it is still "non contending", of which
# task_non_contending() warns. Any other caller's warning is printed.
function end_of_stop(known, i) {
	if (known)
		print "klog: left out: a dying CPU's fair server stopped twice (base)"
	else
		for (i = 0; i < m; i++) print stop[i]
	m = caller = 0
}
function end_of_block(known, i) {
	if (known)
		print "klog: left out: a dying CPU's fair server counted as a task (base)"
	else
		for (i = 0; i < n; i++) print block[i]
	n = listed = 0
}
{ sub(/\r$/, "") }
n && listed && !/pid: [0-9]+, name: / {
	end_of_block(total == 2 && tasks == 1 && name == "migration/" cpu)
}
n > 100 { end_of_block(0) }
!n && !m && /WARNING: .*\/sched\/deadline\.c:[0-9]+ task_non_contending\+/ {
	m = caller = 0
	stop[m++] = $0
	next
}
m { stop[m++] = $0 }
m && / dl_server_stop\+/ { caller = 1 }
m && caller == 1 && / sched_cpu_dying\+/ { caller = 2 }
m && (/---\[ end trace/ || m > 60) { end_of_stop(caller == 2 && m <= 61); next }
m { next }
!n && /Dying CPU not properly vacated!/ { n = tasks = listed = 0; block[n++] = $0; next }
!n { print; next }
{ block[n++] = $0 }
/CPU[0-9]+ enqueued tasks \([0-9]+ total\):/ {
	listed = 1
	cpu = total = $0
	sub(/ enqueued tasks.*/, "", cpu)
	sub(/.*CPU/, "", cpu)
	sub(/.*\(/, "", total)
	total += 0
}
/pid: [0-9]+, name: / && listed { tasks++; name = $0; sub(/.*name: /, "", name) }
END { end_of_block(0); end_of_stop(0) }
