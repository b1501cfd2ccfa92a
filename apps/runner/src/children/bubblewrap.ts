import { findProgram } from '@parley/child-processes/find-program';
import { folderBytes } from './temporary-folder';

/** Inside of the namespace, where paths of the machine do not exist. */
export const programPath = '/parley/host.js';
export const temporaryPath = '/tmp';

/** Beside the libraries: name resolution, certificates for builds of Node that use those of the system, and parts of Debian's Node. */
const systemFiles = [
  '/etc/hosts',
  '/etc/host.conf',
  '/etc/ld.so.cache',
  '/etc/nsswitch.conf',
  '/etc/resolv.conf',
  '/etc/ssl/certs',
  '/usr/lib/ssl',
  '/usr/share/nodejs',
];
const devices = ['/dev/null', '/dev/urandom'];

let libraries: string[] | undefined;

/**
 * Command that starts Node in namespaces of its own, without the network's: it sees Node, its libraries and the program,
 * read-only, a `/proc` of itself, and a `/tmp` in memory. It has no capabilities and cannot make further user namespaces.
 * @param pidDescriptor where bubblewrap writes the process id of Node
 */
export function bubblewrap(program: string, pidDescriptor: number): string[] {
  const own = (flag: string, paths: string[]) => paths.flatMap((path) => [flag, path, path]);
  return [
    findProgram('bwrap') ?? 'bwrap',
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--disable-userns', '--cap-drop', 'ALL', '--hostname', 'code'],
    // No session of its own: Linux shares the processor among sessions first, whatever the priorities of their processes are.
    // Code cannot reach a terminal of this one, since it has pipes and no /dev/tty.
    ...['--die-with-parent', '--as-pid-1', '--info-fd', String(pidDescriptor)],
    // First, since Node itself may be below /tmp.
    ...['--perms', '0700', '--size', String(folderBytes), '--tmpfs', temporaryPath],
    ...own('--ro-bind', [process.execPath, ...(libraries ??= librariesOfNode())]),
    ...own('--ro-bind-try', systemFiles),
    ...own('--dev-bind', devices),
    ...['--ro-bind', program, programPath],
    ...['--proc', '/proc', '--remount-ro', '/', '--chdir', temporaryPath],
  ];
}

/** Shared objects that this process was started with, by the paths under which the loader looks for them. */
function librariesOfNode(): string[] {
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  return sharedObjects.filter((path) => path.startsWith('/') && !path.endsWith('.node'));
}
