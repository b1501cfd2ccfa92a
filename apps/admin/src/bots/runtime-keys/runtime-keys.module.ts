import { Module } from '@nestjs/common';
import { RuntimeKeysController } from './runtime-keys.controller';
import { RuntimeKeysRepository } from './runtime-keys.repository';
import { RuntimeKeysService } from './runtime-keys.service';

@Module({
  controllers: [RuntimeKeysController],
  providers: [RuntimeKeysService, RuntimeKeysRepository],
})
export class RuntimeKeysModule {}
