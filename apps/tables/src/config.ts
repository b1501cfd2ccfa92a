import { ServiceConfig } from '@parley/service/config';

export class TablesConfig extends ServiceConfig {}
