import { deadLetterOperations } from '../dead-letters';
import { sealedTextOperations } from '../sealed-texts';
import { workOperations } from '../work';
import { interfaces, publicInterfaces } from './interfaces';
import { integrationCode, integrationTargets } from './integration-targets';
import { integrations } from './integrations';
import { linkScripts } from './link-scripts';
import { plugins, publicPlugins } from './plugins';
import { publicIntegrations } from './public-integrations';
import { resolution } from './resolution';
import { sharedWebhooks, vrlScripts } from './shared-webhooks';

export const hub = {
  deadLetters: deadLetterOperations('hub'),
  interfaces,
  publicInterfaces,
  integrationCode,
  integrationTargets,
  integrations,
  linkScripts,
  plugins,
  publicPlugins,
  publicIntegrations,
  resolution,
  sharedWebhooks,
  vrlScripts,
  sealedTexts: sealedTextOperations('hub'),
  work: workOperations('hub'),
};
