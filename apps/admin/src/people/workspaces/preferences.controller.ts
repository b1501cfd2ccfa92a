import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { PreferenceKey, SetPreference } from '@parley/contracts/admin/preferences';
import { PreferencesService } from './preferences.service';

@Controller()
export class PreferencesController {
  constructor(private readonly service: PreferencesService) {}

  @Handles(admin.accountPreferences.get)
  getOfAccount(caller: AccountCaller, input: PreferenceKey) {
    return this.service.getOfAccount(caller, input);
  }

  @Handles(admin.accountPreferences.set)
  setOfAccount(caller: AccountCaller, input: SetPreference) {
    return this.service.setOfAccount(caller, input);
  }

  @Handles(admin.workspacePreferences.get)
  getOfWorkspace(caller: WorkspaceCaller, input: PreferenceKey) {
    return this.service.getOfWorkspace(caller, input);
  }

  @Handles(admin.workspacePreferences.set)
  setOfWorkspace(caller: WorkspaceCaller, input: SetPreference) {
    return this.service.setOfWorkspace(caller, input);
  }
}
