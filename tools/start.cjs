// `npm start`. Parsed by old versions of Node too, so that they are refused in one line: no syntax newer than Node 10.
const { engines } = require('../package.json');

let satisfies;
try {
  satisfies = require('semver/functions/satisfies');
} catch (error) {
  fail(`The packages are not installed (${error.code}): run npm ci first.`);
}
if (satisfies(process.version, engines.node)) void import('./start.mjs');
else
  fail(
    `Parley needs Node.js ${engines.node}, and this is ${process.version}: install another version, such as the latest 22.`,
  );

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
