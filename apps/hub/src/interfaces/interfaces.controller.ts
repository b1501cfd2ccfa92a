import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { hub } from '@parley/contracts/hub/hub';
import type { CreateInterface, InterfaceId, UpdateInterface } from '@parley/contracts/hub/interfaces';
import type { ListPublications, PublicationName } from '@parley/contracts/hub/publication';
import { InterfacesService } from './interfaces.service';

@Controller()
export class InterfacesController {
  constructor(private readonly service: InterfacesService) {}

  @Handles(hub.interfaces.create)
  create(caller: WorkspaceCaller, input: CreateInterface) {
    return this.service.create(caller, input);
  }

  @Handles(hub.interfaces.get)
  get({ workspace }: WorkspaceCaller, input: InterfaceId) {
    return this.service.get({ of: workspace.id }, input);
  }

  @Handles(hub.interfaces.getByName)
  getByName({ workspace }: WorkspaceCaller, input: PublicationName) {
    return this.service.getVisibleByName(workspace.id, input);
  }

  @Handles(hub.interfaces.update)
  update(caller: WorkspaceCaller, input: UpdateInterface) {
    return this.service.update(caller, input);
  }

  @Handles(hub.interfaces.delete)
  delete(caller: WorkspaceCaller, input: InterfaceId) {
    return this.service.delete(caller, input);
  }

  @Handles(hub.interfaces.list)
  list({ workspace }: WorkspaceCaller, input: ListPublications) {
    return this.service.list({ of: workspace.id }, input);
  }

  @Handles(hub.publicInterfaces.get)
  getPublic(_caller: AccountCaller, input: InterfaceId) {
    return this.service.get('everybody', input);
  }

  @Handles(hub.publicInterfaces.getByName)
  getPublicByName(_caller: AccountCaller, input: PublicationName) {
    return this.service.getPublicByName(input);
  }

  @Handles(hub.publicInterfaces.list)
  listPublic(_caller: AccountCaller, input: ListPublications) {
    return this.service.list('everybody', input);
  }
}
