import { newServiceKey } from './nats-keys';

const reports = { name: 'reports', asks: ['files.search'], consumes: ['count=files.uploaded'] };

describe('the key of a service of its own', () => {
  it('permits the key of a service its operations and events, and nothing else', () => {
    const [, seed, key, publish, subscribe] =
      /NATS_NKEY_SEED=(\S+)[^]*nkey: (\S+)[^]*publish: \{ allow: \[([^\]]*)\][^]*subscribe: \{ allow: \[([^\]]*)\]/.exec(
        newServiceKey(reports),
      ) ?? [];
    const subjects = (text?: string) => [...text!.matchAll(/"([^"]+)"/g)].map(([, subject]) => subject);

    expect([seed, key]).toEqual([expect.stringMatching(/^SU[A-Z2-7]{56}$/), expect.stringMatching(/^U[A-Z2-7]{55}$/)]);
    expect(subjects(publish)).toEqual([
      '$JS.ACK.PARLEY.reports-count-again.>',
      '$JS.ACK.PARLEY.reports-count.>',
      '$JS.API.CONSUMER.CREATE.PARLEY.reports-count-again.events.again.reports-count',
      '$JS.API.CONSUMER.CREATE.PARLEY.reports-count.events.files.uploaded',
      '$JS.API.CONSUMER.DELETE.PARLEY.reports-count',
      '$JS.API.CONSUMER.DELETE.PARLEY.reports-count-again',
      '$JS.API.CONSUMER.MSG.NEXT.PARLEY.reports-count',
      '$JS.API.CONSUMER.MSG.NEXT.PARLEY.reports-count-again',
      '$JS.API.DIRECT.GET.PARLEY_BODIES.bodies.reports.*.*',
      '$JS.API.STREAM.INFO.PARLEY',
      'bodies.files.*.*',
      'files.search',
    ]);
    expect(subjects(subscribe)).toEqual(['_INBOX_reports.>']);
  });

  it.each([
    ['a name with other characters', { ...reports, name: 'my.reports' }, /--service "my\.reports": use lower case/],
    ['the name of an app', { ...reports, name: 'chat' }, /--service "chat" is an app of Parley/],
    [
      'an unknown operation',
      { ...reports, asks: ['files.seek'] },
      /--asks "files\.seek" not found\. Known: .*files\.search/,
    ],
    ['an unknown event', { ...reports, consumes: ['count=none.of'] }, /^--consumes "none\.of" not found\.$/],
    ['a consumer without a name', { ...reports, consumes: ['files.uploaded'] }, /use <consumer>=<event>/],
  ])('refuses the key of a service for %s', (_what, service, message) => {
    expect(() => newServiceKey(service)).toThrow(message);
  });
});
