import { startEmbedded } from '@parley/testing/running-platform';
import { describePlatform } from './platform.behaviour';

describePlatform('embedded mode', () => startEmbedded());
