import { serveTasks } from '../serve-tasks';

export type TestTask =
  | 'pid'
  | 'environment'
  | 'echo twice'
  | 'throw'
  | 'exceed a length'
  | 'fill the heap'
  | 'block'
  | 'hang'
  | 'kill this process'
  | 'exit';

serveTasks<TestTask, unknown>(async (task, content, write) => {
  switch (task) {
    case 'pid':
      return process.pid;
    case 'environment':
      return process.env;
    case 'echo twice':
      await write(content);
      await write(content);
      return content.length;
    case 'throw':
      throw new Error('thrown by the program');
    case 'exceed a length':
      return 'x'.repeat(2 ** 30);
    case 'fill the heap':
      for (const all: unknown[] = []; ;) all.push({ text: `${Math.random()}`, list: [1, 2, 3] });
    case 'block':
      for (;;);
    case 'hang':
      return new Promise(() => undefined);
    case 'kill this process':
      process.kill(process.pid, 'SIGKILL');
      return new Promise(() => undefined);
    case 'exit':
      return process.exit(7);
  }
});
