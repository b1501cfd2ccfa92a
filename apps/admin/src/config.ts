import { Env, Rejected, text, url } from '@parley/config/config';
import { tokenKind } from '@parley/secrets/token';
import { secretKeyVariable, ServiceConfig } from '@parley/service/config';

export class AdminConfig extends ServiceConfig {
  @Env(secretKeyVariable)
  secretKey!: string;

  @Env({
    env: 'PARLEY_BOOTSTRAP_TOKEN',
    type: {
      accepts: 'a token that `npm run parley -- token generate` prints',
      read: (value) => (tokenKind(value) === 'pat' ? value : new Rejected()),
    },
    about: 'The first personal access token, made at the very first start. The embedded mode makes one itself.',
  })
  bootstrapToken!: string;

  @Env({
    env: 'PARLEY_BOOTSTRAP_EMAIL',
    type: text('an email address', /^\S+@\S+$/),
    about: 'Email address of the account made at the very first start.',
  })
  bootstrapEmail = 'admin@parley.local';

  @Env({
    env: 'PUBLIC_URL',
    type: url('http', 'https'),
    about: 'Address under which clients reach the platform. Required in distributed mode.',
    defaultText: '`http://HOST:PORT`',
  })
  publicUrl!: string;

  @Env({
    env: 'CHAT_URL',
    type: url('http', 'https'),
    about: 'Address under which clients reach the chat of a bot: its webhook id is added.',
    optional: true,
    defaultText: '`PUBLIC_URL/chat`',
  })
  chatUrl?: string;
}
