import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface RunningProcess {
  pid: number;
  /** Identifies this process among later ones with the same id. Only for comparison. */
  startedAt: string;
  command: string;
}

/** Null when the process has ended, including zombies. */
export function findProcess(pid: number): Promise<RunningProcess | null> {
  return process.platform === 'linux' ? findInProc(pid) : findWithPs(pid);
}

export async function findInProc(pid: number): Promise<RunningProcess | null> {
  try {
    const [stat, command, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    ]);
    // proc(5): "pid (name) state … starttime …"; the name may contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (isEnded(fields[0])) return null;
    return { pid, startedAt: `${boot.trim()} ${fields[19]}`, command: command.split('\0').join(' ').trim() };
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

export async function findWithPs(pid: number): Promise<RunningProcess | null> {
  const options = { env: { ...process.env, LC_ALL: 'C' } };
  const { stdout } = await promisify(execFile)(
    'ps',
    ['-ww', '-p', `${pid}`, '-o', 'stat=,lstart=,command='],
    options,
  ).catch((error: { code?: unknown }) => {
    // ps exits with 1 when the process does not exist.
    if (error.code === 1) return { stdout: '' };
    throw error;
  });
  const [state, ...words] = stdout.trim().split(/\s+/);
  if (!state || isEnded(state)) return null;
  return { pid, startedAt: words.slice(0, 5).join(' '), command: words.slice(5).join(' ') };
}

export async function isRunning({ pid, startedAt }: Pick<RunningProcess, 'pid' | 'startedAt'>): Promise<boolean> {
  return (await findProcess(pid))?.startedAt === startedAt;
}

function isEnded(state: string | undefined): boolean {
  return !state || /^[ZX]/.test(state);
}
