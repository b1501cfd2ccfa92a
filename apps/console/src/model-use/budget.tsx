import { Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Budget as Amounts } from '@parley/contracts/admin/budgets';
import { request } from '../api/request';
import { useCan } from '../api/role';
import { FormButton } from '../parts/change-buttons';
import { Facts } from '../parts/facts';
import { textIn } from '../parts/form-text';
import { Loaded } from '../parts/loaded';
import { Section } from '../parts/section';
import { budgetKey, type BudgetParams, budgetPath, budgetQuery, costText, countText, spentQuery } from './queries';

/** Budget of a bot or of the workspace, with what is spent of it. */
export function Budget({ params }: { params: BudgetParams }) {
  const query = useQuery(budgetQuery(params));
  const { data: spent } = useQuery(spentQuery(params));
  const canChange = useCan(params.workspaceId, 'administer');
  return (
    <Section title="Budget" aside={canChange && query.data && <Edit params={params} amounts={query.data} />}>
      <Loaded query={query}>
        {({ dollars, tokens }) => (
          <Facts
            label="Budget"
            facts={[
              ['Money a month', dollars === null ? 'no limit' : costText(dollars)],
              ['Tokens a month', tokens === null ? 'no limit' : countText(tokens)],
              ['Spent this month', spent === undefined ? '–' : costText(spent)],
            ]}
          />
        )}
      </Loaded>
      <Text size="sm" c="dimmed">
        Months are in UTC. Models without prices cost nothing, so that only a limit of tokens stops them.
        {params.botId !== undefined && ' The budget of the workspace applies too.'}
      </Text>
    </Section>
  );
}

function Edit({ params, amounts }: { params: BudgetParams; amounts: Amounts }) {
  const save = (values: FormData) =>
    request({
      ...{ method: 'PUT' as const, workspaceId: params.workspaceId, path: budgetPath(params) },
      body: { dollars: amountIn(values, 'dollars'), tokens: amountIn(values, 'tokens') },
    });
  return (
    <FormButton
      label="Edit"
      aria-label="Edit the budget"
      title="Budget"
      submitLabel="Save"
      changes={budgetKey(params)}
      submit={save}
    >
      <TextInput
        name="dollars"
        type="number"
        step="any"
        min={0}
        label="US dollars a month"
        description="Empty: no limit"
        defaultValue={amounts.dollars ?? ''}
      />
      <TextInput
        name="tokens"
        type="number"
        min={0}
        label="Tokens a month"
        description="Empty: no limit. Prompts and answers count."
        defaultValue={amounts.tokens ?? ''}
      />
    </FormButton>
  );
}

function amountIn(values: FormData, name: string): number | null {
  const text = textIn(values, name);
  return text === '' ? null : Number(text);
}
