# SPDX-License-Identifier: GPL-2.0
# A kernel log without one warning of the base's: prints all lines but those of it.
#
# Linux 6.12 counts a CPU's fair server, the deadline entity that runs fair tasks when
# real-time ones leave them no time, as one more running task. Where it is due while
# stop_machine() waits to take the CPU offline, sched_cpu_dying() finds two running tasks,
# warns "Dying CPU not properly vacated!", and lists the stopper as the only one. Slow
# guests see that. Later kernels do not count the server ("sched/deadline: Don't count
# nr_running for dl_server proxy tasks").
#
# A thread left on the CPU is a defect and in the list, and the warning stays then, as it
# does without a list.
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
END { end_of_block(0) }
