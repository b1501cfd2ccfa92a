import { problemsOf, toInstance } from '../fields';
import { CreateMessage, Message } from './messages';

const tags = (count: number) => ({
  tags: Object.fromEntries(Array.from({ length: count }, (_, number) => [`tag${number}`, 'x'])),
});

const problemsOfTags = (problems: string[]) => problems.filter((problem) => problem.startsWith('tags'));

it('accepts more tags in an answer (of the bot and its integrations together) than in a request', () => {
  const shown = problemsOf(toInstance(Message, tags(200)) as object);
  const set = problemsOf(toInstance(CreateMessage, tags(51)) as object);

  expect(problemsOfTags(shown)).toEqual([]);
  expect(problemsOfTags(set)).toEqual([expect.stringMatching('at most 50')]);
});
