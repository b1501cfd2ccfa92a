import { waitFor } from '@parley/testing/wait-for';
import { CoalescingCache } from './coalescing-cache';

interface Answer {
  of: string;
}

function newOracle() {
  const asked: { answer: (text: string) => void; fail: (reason: Error) => void }[] = [];
  const answers = new CoalescingCache<Answer>(
    10,
    () =>
      new Promise((resolve, reject) => {
        asked.push({ answer: (of) => resolve({ of }), fail: reject });
      }),
  );
  const question = async (number: number) => {
    await waitFor(() => asked.length >= number);
    return asked[number - 1]!;
  };
  return { asked, answers, question };
}

const isNew = ({ of }: Answer) => of === 'new';

describe('recent answers', () => {
  it('are fetched once for concurrent callers while they are good', async () => {
    const { asked, answers, question } = newOracle();

    const early = [answers.get('a'), answers.get('a', isNew)];
    (await question(1)).answer('new');
    const late = answers.get('a', isNew);

    expect(await Promise.all([...early, late])).toEqual([{ of: 'new' }, { of: 'new' }, { of: 'new' }]);
    expect(asked).toHaveLength(1);
  });

  it('are fetched again for a caller that rejects them, even while an older fetch is running', async () => {
    const { asked, answers, question } = newOracle();
    const early = answers.get('a');
    const first = await question(1);

    const refused = answers.get('a', isNew);
    first.answer('old');
    (await question(2)).answer('new');

    expect([await early, await refused]).toEqual([{ of: 'old' }, { of: 'new' }]);
    expect(await answers.get('a', isNew)).toEqual({ of: 'new' });
    expect(asked).toHaveLength(2);
  });

  it('are not fetched twice for the caller that fetched first', async () => {
    const { asked, answers, question } = newOracle();

    const refused = answers.get('a', isNew);
    (await question(1)).answer('old');

    expect(await refused).toEqual({ of: 'old' });
    expect(asked).toHaveLength(1);
  });

  it('cost one fetch for all concurrent callers that reject them', async () => {
    const { asked, answers, question } = newOracle();
    const early = answers.get('a');
    (await question(1)).answer('old');
    await early;

    const refused = Array.from({ length: 100 }, () => answers.get('a', isNew));
    (await question(2)).answer('old');
    await Promise.all(refused);

    expect(asked).toHaveLength(2);
  });

  it('stay cached when a refetch fails, and the caller gets the error', async () => {
    const { answers, question } = newOracle();
    const early = answers.get('a');
    (await question(1)).answer('old');
    await early;

    const refused = answers.get('a', isNew);
    (await question(2)).fail(new Error('away'));

    await expect(refused).rejects.toThrow('away');
    expect(await answers.get('a')).toEqual({ of: 'old' });
  });
});
