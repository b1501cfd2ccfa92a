// Asks the registry for known weaknesses of what is shipped. One that gives no answer, as many mirrors do not, is told.
import { spawnSync } from 'node:child_process';

/** What `npm audit --json` means: which packages have a weakness of this weight, or why that is not known. */
function outcome(output) {
  let report;
  try {
    report = JSON.parse(output);
  } catch {
    return { skipped: 'npm audit answered with something that is not JSON' };
  }
  if (!report.vulnerabilities)
    return { skipped: report.message ?? report.error?.summary ?? 'npm audit gave no report' };
  const heavy = Object.values(report.vulnerabilities).filter(({ severity }) => ['high', 'critical'].includes(severity));
  return { weak: heavy.map(({ name, severity, range }) => `${name} ${range}: ${severity}`) };
}

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8', timeout: 60_000 });
const { skipped, weak = [] } = outcome(stdout ?? '');
if (skipped) console.log(`skipped: the registry does not tell of weaknesses (${skipped})`);
weak.forEach((line) => console.error(line));
if (weak.length > 0)
  console.error('See `npm audit --omit=dev`: take a version without the weakness, or another package.');
process.exitCode = weak.length > 0 ? 1 : 0;
