import { workerData } from 'node:worker_threads';

const checkMs = 500;
const { parentPid } = workerData as { parentPid: number };

/** A process whose parent died gets another parent. This thread detects that even while the main thread is blocked. */
setInterval(() => {
  if (process.ppid !== parentPid) process.kill(process.pid, 'SIGKILL');
}, checkMs);
