import { constants, setPriority } from 'node:os';
import { HostileBot } from '../test/faults/hostile-bot';

// Server of bots that answer as the path of their url says. It stands for another machine, so it runs after all that is
// measured.

setPriority(constants.priority.PRIORITY_LOW);
void HostileBot.start().then(({ url }) => process.stdout.write(`Listening at ${url}\n`));
