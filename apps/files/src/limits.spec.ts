import { createLogger } from '@parley/logging/logger';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { FilesConfig } from './config';
import { ContentController } from './content/content.controller';

/** Content endpoint that is asked for nothing but its limits. */
function contentLimits() {
  const none = {} as never;
  const platform = { metrics: new Metrics(), logger: createLogger('test', 'silent') } as Platform;
  const controller = new ContentController(none, none, none, none, none, new FilesConfig(), platform);
  return { uploads: controller['uploadLimiter'], downloads: controller['downloadLimiter'] };
}

it('takes 400 uploads at once, of which one bot may have half', () => {
  const { uploads } = contentLimits();

  for (let nth = 0; nth < 200; nth += 1) uploads.enter('bot');
  expect(() => uploads.enter('bot')).toThrow('overloaded');
  for (let nth = 0; nth < 200; nth += 1) uploads.enter(`other ${nth}`);
  expect(() => uploads.enter('last')).toThrow('overloaded');
});

it('takes 2,000 downloads at once', () => {
  const { downloads } = contentLimits();

  for (let nth = 0; nth < 2_000; nth += 1) downloads.enter();

  expect(() => downloads.enter()).toThrow('overloaded');
});
