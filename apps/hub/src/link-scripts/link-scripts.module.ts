import { Module } from '@nestjs/common';
import { VrlScriptsModule } from '../scripts/vrl-scripts.module';
import { LinkScriptsController } from './link-scripts.controller';
import { LinkScriptsRepository } from './link-scripts.repository';
import { LinkScriptsService } from './link-scripts.service';

@Module({
  imports: [VrlScriptsModule],
  controllers: [LinkScriptsController],
  providers: [LinkScriptsService, LinkScriptsRepository],
})
export class LinkScriptsModule {}
