import { ServiceConfig } from '@parley/service/config';

export class ChatConfig extends ServiceConfig {}
