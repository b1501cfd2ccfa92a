import { checkName } from './publication-name';
import { checkVersion, pickVersion } from './versions';
import { visibilityAfter } from './visibility';

describe('the name of a publication', () => {
  it.each([
    ['tea', null],
    ['tea', 'acme'],
    ['acme/tea', 'acme'],
    ['acme/Tea_2.x-y', 'acme'],
  ])('accepts %s as the name of a publication in a workspace with the handle %s', (name, handle) => {
    expect(() => checkName(name, handle)).not.toThrow();
  });

  it.each([
    ['acme/tea', 'other', 'Forbidden'],
    ['acme/tea', null, 'Forbidden'],
    ['a/b/c', 'a', 'InvalidPayload'],
    ['/tea', 'acme', 'InvalidPayload'],
    ['tea/', 'tea', 'InvalidPayload'],
    ['', null, 'InvalidPayload'],
    ['te a', null, 'InvalidPayload'],
    ['../tea', '..', 'InvalidPayload'],
  ])('rejects %j as the name of a publication in a workspace with the handle %j', (name, handle, type) => {
    expect(() => checkName(name, handle)).toThrow(expect.objectContaining({ type }));
  });
});

describe('the version of a publication', () => {
  it.each(['1.0.0', '0.0.1', '2.0.0-beta.1'])('accepts %s as the version of a publication', (version) => {
    expect(() => checkVersion(version)).not.toThrow();
  });

  it.each(['', '1', '1.0', 'v1.0.0', '1.0.0 ', 'latest', '01.0.0', '>=1.0.0'])(
    'rejects %j as the version of a publication',
    (version) => {
      expect(() => checkVersion(version)).toThrow(expect.objectContaining({ type: 'InvalidPayload' }));
    },
  );
});

describe('a requested version', () => {
  const versions = ['0.2.0', '1.0.0', '1.2.3', '1.10.0', '2.0.0-beta.1'];

  it.each([
    ['latest', '1.10.0'],
    ['1.0.0', '1.0.0'],
    ['2.0.0-beta.1', '2.0.0-beta.1'],
    ['>=1.0.0 <2.0.0', '1.10.0'],
    ['<1.2.3', '1.0.0'],
    ['^1.2.0', '1.10.0'],
    ['*', '1.10.0'],
    ['3.0.0', undefined],
    ['<0.2.0', undefined],
    ['nonsense', undefined],
    ['', '1.10.0'],
  ])('resolves the requested version %j to %s', (wanted, picked) => {
    expect(pickVersion(versions, wanted)).toBe(picked);
  });

  it('resolves latest to no version when all are pre-releases', () => {
    expect(pickVersion(['1.0.0-beta.1'], 'latest')).toBeUndefined();
  });
});

describe('the visibility after a change', () => {
  it.each([
    ['private', {}, 'private'],
    ['private', { public: true }, 'public'],
    ['private', { public: false }, 'private'],
    ['unlisted', { public: true }, 'public'],
    ['unlisted', { public: false }, 'unlisted'],
    ['public', {}, 'public'],
    ['public', { public: false }, 'private'],
    ['public', { visibility: 'unlisted', public: false }, 'unlisted'],
  ] as const)('changes the visibility %s by %j to %s', (before, change, after) => {
    expect(visibilityAfter(before, change)).toBe(after);
  });
});
