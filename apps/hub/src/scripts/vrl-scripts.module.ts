import { Module } from '@nestjs/common';
import { VrlScriptsController } from './vrl-scripts.controller';
import { VrlScriptsService } from './vrl-scripts.service';

@Module({ controllers: [VrlScriptsController], providers: [VrlScriptsService], exports: [VrlScriptsService] })
export class VrlScriptsModule {}
