import '@parley/service/tune-heap';
import 'reflect-metadata';
import { runApp } from '@parley/service/run';
import { GatewayConfig } from './config';
import { GatewayModule } from './gateway.module';

void runApp({
  name: 'gateway',
  config: GatewayConfig,
  module: (config, platform) => GatewayModule.register(config, platform),
});
