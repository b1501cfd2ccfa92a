/** Memory of the browser, with which a conversation continues after a reload. */
export interface Visitor {
  userKey?: string;
  conversationId?: string;
}

const prefix = 'parley-webchat';

/**
 * Memory of a visitor in the local storage of the page. Without storage, which a page may forbid, it lasts as long as
 * the page.
 */
export class VisitorMemory {
  private readonly name: string;
  private readonly storesKey: boolean;
  private visitor: Visitor;

  /** @param ownKey user key that the page gives: each user of a page has an own memory, and its key is not stored */
  constructor(webhookId: string, ownKey: string | undefined) {
    this.name = [prefix, webhookId, ...(ownKey ? [userOf(ownKey)] : [])].join(':');
    this.storesKey = !ownKey;
    this.visitor = ownKey ? { conversationId: this.read().conversationId, userKey: ownKey } : this.read();
  }

  get current(): Visitor {
    return this.visitor;
  }

  remember(change: Visitor): void {
    this.visitor = { ...this.visitor, ...change };
    const { userKey, conversationId } = this.visitor;
    this.write(this.storesKey ? { userKey, conversationId } : { conversationId });
  }

  forget(): void {
    this.visitor = this.storesKey ? {} : { userKey: this.visitor.userKey };
    this.write({});
  }

  private read(): Visitor {
    try {
      return JSON.parse(localStorage.getItem(this.name) ?? '{}') as Visitor;
    } catch {
      // No storage, or not our text: the visitor is new.
      return {};
    }
  }

  private write(visitor: Visitor): void {
    try {
      localStorage.setItem(this.name, JSON.stringify(visitor));
    } catch {
      // No storage: the memory ends with the page.
    }
  }
}

/** Id in the payload of a user key (JWT), which the server verifies. */
function userOf(key: string): string {
  try {
    const payload = key.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/');
    return String((JSON.parse(atob(payload)) as { id?: unknown }).id);
  } catch {
    // The server refuses the key.
    return 'invalid';
  }
}
