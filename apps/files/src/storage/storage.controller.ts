import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import { storageCounts, type ReconcileStorage } from '@parley/contracts/storage-counts';
import { StorageService } from './storage.service';

@Controller()
export class StorageController {
  constructor(private readonly service: StorageService) {}

  @Handles(storageCounts.reconcile)
  reconcile(_caller: Caller, input: ReconcileStorage) {
    return this.service.reconcile(input);
  }
}
