import { service } from '../access';
import { operation } from '../operation';
import { SealCodeSecrets, SealedCodeSecrets } from '../runner/code';

export const runtimeKeys = {
  issue: operation({
    subject: 'admin.runtimeKeys.issue',
    summary: 'Issues the API key with which the code of an integration calls the API, sealed for a runner.',
    access: service,
    input: SealCodeSecrets,
    output: SealedCodeSecrets,
  }),
};
