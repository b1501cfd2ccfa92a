import type { DeploymentRefused } from '@parley/contracts/admin/bots';
import type { Failure } from './issue-records.service';

export function refusedDeployment({ botId, failure }: DeploymentRefused): Failure {
  return {
    botId,
    code: 'deployment_refused',
    category: 'user_code',
    title: 'A deployment was refused: its code cannot be loaded',
    description: failure,
    data: { reason: { raw: failure } },
  };
}
