import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export interface ErrorMessage {
  /** Folder of the app or library: `apps/chat`. */
  owner: string;
  /** First argument of an ApiError, or the class of any other error. */
  type: string;
  /** Interpolated values in braces. */
  message: string;
}

interface Source {
  owner: string;
  file: ts.SourceFile;
}

/**
 * Every message of an error that the sources construct, in the order of files: arguments of `new ApiError(…)` and of other
 * error classes of ours, arguments of functions that pass them on, and messages of validators. Plain `Error` is not listed,
 * since its message stays in the log.
 */
export function errorMessages(): ErrorMessage[] {
  const sources = ['apps', 'libs']
    .flatMap((folder) =>
      readdirSync(folder)
        .sort()
        .map((name) => `${folder}/${name}`),
    )
    .flatMap(read);
  const classes = errorClasses(sources);
  const factories = errorFactories(sources, classes);
  const found: ErrorMessage[] = [];
  for (const source of sources) {
    visit(source.file, (node) => {
      for (const { type, message } of messagesAt(node, classes, factories, source)) {
        found.push({ owner: source.owner, type, message: message.replace(/\s+/g, ' ').trim() });
      }
    });
  }
  const seen = new Set<string>();
  return found.filter(({ owner, type, message }) => {
    const key = `${owner} ${type} ${message}`;
    return /[a-z]{2} /i.test(message) && !seen.has(key) && seen.add(key);
  });
}

function read(owner: string): Source[] {
  if (owner === 'libs/testing') return [];
  return (readdirSync(owner, { recursive: true }) as string[])
    .filter((name) => name.endsWith('.ts') && !/\.spec\.ts$|\.behaviour\.ts$|(^|\/)test\//.test(name))
    .sort()
    .map((name) => {
      const path = join(owner, name);
      return { owner, file: ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true) };
    });
}

/** Names of the classes that extend Error, directly or not. */
function errorClasses(sources: Source[]): Set<string> {
  const parents = new Map<string, string>();
  for (const { file } of sources) {
    visit(file, (node) => {
      if (!ts.isClassDeclaration(node) || !node.name) return;
      const parent = node.heritageClauses?.[0]?.types[0]?.expression.getText();
      if (parent) parents.set(node.name.text, parent);
    });
  }
  const isError = (name: string | undefined): boolean => name === 'Error' || (!!name && isError(parents.get(name)));
  return new Set([...parents.keys()].filter(isError));
}

/** Functions and methods that construct an error with a message from their arguments, and the type of that error. */
function errorFactories(sources: Source[], classes: Set<string>): Map<string, string> {
  const factories = new Map<string, string>();
  for (const { file } of sources) {
    visit(file, (node) => {
      if (!isErrorConstruction(node, classes)) return;
      const enclosing = enclosingFunction(node);
      if (!enclosing) return;
      const parameters = new Set(enclosing.parameters.map(({ name }) => name.getText()));
      const isPassedOn = argumentsOf(node).some(
        (argument) => ts.isIdentifier(argument) && parameters.has(argument.text),
      );
      const name = nameOf(enclosing);
      if (isPassedOn && name) factories.set(name, typeOf(node));
    });
  }
  return factories;
}

function messagesAt(
  node: ts.Node,
  classes: Set<string>,
  factories: Map<string, string>,
  { owner }: Source,
): { type: string; message: string }[] {
  if (isErrorConstruction(node, classes)) {
    const type = typeOf(node);
    return argumentsOf(node).flatMap((argument) => textsOf(argument).map((message) => ({ type, message })));
  }
  if (ts.isCallExpression(node)) {
    const callee = ts.isPropertyAccessExpression(node.expression)
      ? node.expression.name.text
      : node.expression.getText();
    const type = factories.get(callee);
    if (type) return node.arguments.flatMap((argument) => textsOf(argument).map((message) => ({ type, message })));
  }
  if (
    owner === 'libs/contracts' &&
    ts.isPropertyAssignment(node) &&
    /^(message|defaultMessage)$/.test(node.name.getText())
  ) {
    const value = ts.isArrowFunction(node.initializer) ? node.initializer.body : node.initializer;
    if (ts.isExpression(value)) return textsOf(value).map((message) => ({ type: 'validation', message }));
  }
  return [];
}

function isErrorConstruction(node: ts.Node, classes: Set<string>): node is ts.NewExpression {
  return ts.isNewExpression(node) && classes.has(node.expression.getText());
}

/** Without the type of an ApiError and the options after the message. */
function argumentsOf(node: ts.NewExpression): ts.Expression[] {
  const given = [...(node.arguments ?? [])].filter((argument) => !ts.isObjectLiteralExpression(argument));
  return node.expression.getText() === 'ApiError' ? given.slice(1, 2) : given;
}

function typeOf(node: ts.NewExpression): string {
  const name = node.expression.getText();
  const first = node.arguments?.[0];
  return name === 'ApiError' && first && ts.isStringLiteral(first) ? first.text : name;
}

/** Texts that an expression can have, each with its values in braces; none where only the caller knows. */
function textsOf(node: ts.Node): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) {
    const parts = node.templateSpans.map(({ expression, literal }) => `{${short(expression)}}${literal.text}`);
    return [node.head.text + parts.join('')];
  }
  if (ts.isParenthesizedExpression(node)) return textsOf(node.expression);
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)];
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textsOf(node.left), textsOf(node.right)];
    return left.flatMap((before) => right.map((after) => before + after));
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    if (name.text !== 'join' || !ts.isArrayLiteralExpression(expression)) return [];
    return [expression.elements.map((element) => textsOf(element)[0] ?? `{${short(element)}}`).join(' ')];
  }
  if (ts.isIdentifier(node)) {
    const initializer = constantOf(node);
    return initializer ? textsOf(initializer) : [];
  }
  return [];
}

/** Initial value of a constant of the same file. */
function constantOf(name: ts.Identifier): ts.Expression | undefined {
  let initializer: ts.Expression | undefined;
  visit(name.getSourceFile(), (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.name.text === name.text) {
      if (node.initializer && !ts.isIdentifier(node.initializer)) initializer ??= node.initializer;
    }
  });
  return initializer;
}

/** An interpolated expression as a reader of the message sees it: `limits.maxRows` is `maxRows`. */
function short(node: ts.Node): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  return '…';
}

function enclosingFunction(node: ts.Node): ts.FunctionLikeDeclaration | undefined {
  for (let at: ts.Node | undefined = node; at; at = at.parent) {
    if (ts.isFunctionDeclaration(at) || ts.isMethodDeclaration(at) || ts.isArrowFunction(at)) return at;
  }
  return undefined;
}

function nameOf(node: ts.FunctionLikeDeclaration): string | undefined {
  if (node.name) return node.name.getText();
  return ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() : undefined;
}

function visit(node: ts.Node, work: (node: ts.Node) => void): void {
  work(node);
  node.forEachChild((child) => visit(child, work));
}
