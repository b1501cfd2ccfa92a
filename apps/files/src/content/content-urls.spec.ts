import { SecretKeys } from '@parley/secrets/secret-keys';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { ContentUrlsService } from './content-urls.service';

const urls = new ContentUrlsService('http://files.test', new SecretKeys({ secretKey: 's'.repeat(32) }));
const upload = { fileId: 'file_1', uploadId: 'up_1', size: 3, contentType: 'text/plain', tagged: false };
const queryOf = (url: string) => Object.fromEntries(new URL(url).searchParams);

beforeEach(() => {
  fakeClock('Date');
  jest.setSystemTime(1_800_000_000_000);
});
afterEach(realClock);

it('accepts an upload URL for an hour', () => {
  const query = queryOf(urls.upload(upload, urls.uploadExpiry()));

  jest.setSystemTime(Date.now() + 3_600_000 - 1);
  expect(urls.readUpload('file_1', query)).toEqual(upload);

  jest.setSystemTime(Date.now() + 1);
  expect(() => urls.readUpload('file_1', query)).toThrow('This URL has expired');
});

it('accepts a download URL for 15 minutes', () => {
  const query = queryOf(urls.download('file_1', 'v1'));

  jest.setSystemTime(Date.now() + 900_000 - 1);
  expect(urls.readDownload('file_1', query)).toEqual({ fileId: 'file_1', version: 'v1' });

  jest.setSystemTime(Date.now() + 1);
  expect(() => urls.readDownload('file_1', query)).toThrow('This URL has expired');
});
