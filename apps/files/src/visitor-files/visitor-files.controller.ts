import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { files } from '@parley/contracts/files';
import type { DeclareVisitorFile } from '@parley/contracts/visitor-files';
import { VisitorFilesService } from './visitor-files.service';

@Controller()
export class VisitorFilesController {
  constructor(private readonly service: VisitorFilesService) {}

  @Handles(files.visitorFiles.declare)
  declare(_caller: Caller, input: DeclareVisitorFile) {
    return this.service.declare(input);
  }
}
