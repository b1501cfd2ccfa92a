import { ServiceConfig } from '@parley/service/config';

export class HubConfig extends ServiceConfig {}
