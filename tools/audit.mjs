// Checks the shipped packages for known vulnerabilities. Reports `skipped` when the registry has no audit endpoint, as
// many mirrors.
import { spawnSync } from 'node:child_process';

/** Parses `npm audit --json`: packages with a high or critical vulnerability, or the reason why there is no report. */
function outcome(output) {
  let report;
  try {
    report = JSON.parse(output);
  } catch {
    return { skipped: 'npm audit did not print JSON' };
  }
  if (!report.vulnerabilities)
    return { skipped: report.message ?? report.error?.summary ?? 'npm audit printed no report' };
  const heavy = Object.values(report.vulnerabilities).filter(({ severity }) => ['high', 'critical'].includes(severity));
  return { weak: heavy.map(({ name, severity, range }) => `${name} ${range}: ${severity}`) };
}

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8', timeout: 60_000 });
const { skipped, weak = [] } = outcome(stdout ?? '');
if (skipped) console.log(`skipped: the registry provides no vulnerability data (${skipped})`);
weak.forEach((line) => console.error(line));
if (weak.length > 0)
  console.error('See `npm audit --omit=dev`: upgrade to a version without the vulnerability, or replace the package.');
process.exitCode = weak.length > 0 ? 1 : 0;
