import { HostileBot } from '../test/faults/hostile-bot';

// Server of bots that answer as the path of their url says.

void HostileBot.start().then(({ url }) => process.stdout.write(`Listening at ${url}\n`));
