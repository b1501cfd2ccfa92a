import { type DynamicModule, Module, type Type } from '@nestjs/common';

/** Makes the app's configuration injectable in every module of the app, by its class. */
@Module({})
export class ConfigModule {
  static register<Config extends object>(type: Type<Config>, config: Config): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: type, useValue: config }],
      exports: [type],
    };
  }
}
