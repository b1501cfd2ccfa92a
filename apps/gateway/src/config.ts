import { ProcessConfig } from '@parley/service/config';

export class GatewayConfig extends ProcessConfig {}
