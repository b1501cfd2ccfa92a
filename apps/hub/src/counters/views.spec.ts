import type { CountersRepository } from './counters.repository';
import { ViewsService } from './views.service';

it('adds the views of a failed write to those that were counted meanwhile, and writes each once', async () => {
  const written: unknown[] = [];
  let isAway = true;
  const views: ViewsService = new ViewsService({
    addViews: async (seen: ReadonlyMap<string, number>) => {
      if (!isAway) return void written.push(Object.fromEntries(seen));
      views.count('a');
      throw new Error('The database has gone.');
    },
  } as CountersRepository);
  views.count('a');
  views.count('b');

  await expect(views.write()).rejects.toThrow('The database has gone.');
  isAway = false;
  await views.write();
  await views.write();

  expect(written).toEqual([{ a: 2, b: 1 }]);
});
