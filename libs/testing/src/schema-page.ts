import type { EntityClass, ServiceSchema } from '@parley/persistence/service-schema';
import { type ColumnOptions, getMetadataArgsStorage } from 'typeorm';

interface Reference {
  columns: string[];
  table: string;
  onDelete?: string;
}

interface ColumnRow {
  name: string;
  type: string;
  isPrimary: boolean;
  isNullable: boolean;
  fallback: string;
}

interface TableDescription {
  name: string;
  columns: ColumnRow[];
  references: Reference[];
  indexes: string[];
}

const head = [
  '# Database schema',
  '',
  'Each service owns one Postgres schema. Migrations create the tables; entity classes describe them, and a test of each service',
  'proves that both agree. Expressions of indexes, triggers, functions and partitions are only in the migrations',
  '(`src/migrations` of each service).',
  '',
  'This page is generated from the entities: `UPDATE_DOCS=1 npm test -- documentation`.',
];

/** Markdown page of all tables: a diagram and the columns of each table, by schema. */
export function schemaPage(services: ServiceSchema[]): string {
  return `${[...head, ...services.flatMap(schemaSection)].join('\n')}\n`;
}

function schemaSection({ schema, entities }: ServiceSchema): string[] {
  const tables = entities.map(describeTable).sort((a, b) => (a.name < b.name ? -1 : 1));
  return ['', `## ${schema}`, '', ...diagram(tables), ...tables.flatMap((table) => tableSection(schema, table))];
}

function diagram(tables: TableDescription[]): string[] {
  const relations = tables.flatMap(({ name, references }) =>
    references.map(({ table, columns }) => `  ${quote(table)} ||--o{ ${quote(name)} : "${columns.join(', ')}"`),
  );
  const boxes = tables.map(({ name, columns }) => {
    const keys = columns.filter(({ isPrimary }) => isPrimary);
    return `  ${quote(name)} {\n${keys.map((key) => `    ${wordOf(key.type)} ${key.name} PK`).join('\n')}\n  }`;
  });
  return ['```mermaid', 'erDiagram', ...boxes, ...relations, '```'];
}

function tableSection(schema: string, { name, columns, references, indexes }: TableDescription): string[] {
  const rows = columns.map(({ name: column, type, isPrimary, isNullable, fallback }) => {
    const reference = references.find((candidate) => candidate.columns.includes(column));
    const key = [isPrimary ? 'primary' : '', reference ? `→ ${reference.table}${actionOf(reference)}` : ''];
    return `| \`${column}\` | ${type} | ${isNullable ? 'yes' : ''} | ${fallback} | ${key.filter(Boolean).join(', ')} |`;
  });
  return [
    '',
    `### ${schema}.${name}`,
    '',
    '| column | type | null | default | key |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    ...(indexes.length > 0 ? ['', `Indexes: ${indexes.join(', ')}`] : []),
  ];
}

function describeTable(entity: EntityClass): TableDescription {
  const storage = getMetadataArgsStorage();
  const family = [...ancestorsOf(entity), entity];
  const ofEntity = <T extends { target: unknown }>(all: T[]): T[] =>
    family.flatMap((member) => all.filter(({ target }) => target === member));
  return {
    name: tableNameOf(entity),
    columns: ofEntity(storage.columns).map(({ propertyName, options }) => describeColumn(propertyName, options)),
    references: ofEntity(storage.foreignKeys).map(({ type, columnNames, propertyName, onDelete }) => ({
      columns: columnNames ?? [propertyName!],
      table: tableNameOf(typeof type === 'string' ? entityNamed(type) : (type as () => EntityClass)()),
      onDelete,
    })),
    indexes: [
      ...ofEntity(storage.uniques).map(({ columns }) => `unique (${(columns as string[]).join(', ')})`),
      ...ofEntity(storage.indices).map(({ name, columns, unique, where }) => {
        const list = Array.isArray(columns) ? ` (${columns.join(', ')})` : ' (see the migration)';
        return `\`${name}\`${unique ? ' unique' : ''}${list}${where ? ` where ${where}` : ''}`;
      }),
    ],
  };
}

function describeColumn(name: string, options: ColumnOptions): ColumnRow {
  const { type, array, precision, collation, default: fallback, unique } = options;
  return {
    name,
    type: [
      `${String(type)}${precision == null ? '' : `(${precision})`}${array ? '[]' : ''}`,
      ...(collation ? [`collation ${collation}`] : []),
      ...(unique ? ['unique'] : []),
    ].join(', '),
    isPrimary: options.primary === true,
    isNullable: options.nullable === true,
    fallback: textOf(fallback),
  };
}

function textOf(fallback: unknown): string {
  if (fallback === undefined) return '';
  if (typeof fallback === 'function') return `\`${(fallback as () => string)()}\``;
  return `\`${JSON.stringify(fallback)}\``;
}

/** Abstract classes with common columns, the most general first. */
function ancestorsOf(entity: EntityClass): unknown[] {
  const parent: unknown = Object.getPrototypeOf(entity);
  return parent === Function.prototype ? [] : [...ancestorsOf(parent as EntityClass), parent];
}

function tableNameOf(entity: EntityClass): string {
  return getMetadataArgsStorage().tables.find(({ target }) => target === entity)!.name!;
}

function entityNamed(name: string): EntityClass {
  const targets = getMetadataArgsStorage().tables.map(({ target }) => target as EntityClass);
  return targets.find((target) => target.name === name)!;
}

function actionOf({ onDelete }: Reference): string {
  return onDelete ? `, on delete ${onDelete.toLowerCase()}` : '';
}

/** Mermaid accepts other names only in quotes. */
function quote(name: string): string {
  return `"${name}"`;
}

function wordOf(type: string): string {
  return type.replace(/\W.*$/, '');
}
