import { json, LoopbackServer, type LoopbackRequest } from '@parley/testing/loopback-server';

export interface StoredPoint {
  id: string;
  payload: Record<string, unknown>;
  vector?: unknown;
}

interface Condition {
  key?: string;
  match?: { value?: unknown; any?: unknown[] };
  has_id?: unknown[];
}

interface Filter {
  must?: Condition | Condition[];
  must_not?: Condition | Condition[];
}

interface QdrantRequest {
  points?: unknown[];
  filter?: Filter;
  payload?: Record<string, unknown>;
  limit?: number;
  offset?: string | null;
}

const completed = { operation_id: 1, status: 'completed' };

/**
 * Fake Qdrant server: stores, deletes, retags, counts and scrolls points. Compares no vectors: every search finds
 * nothing.
 */
export class StandInQdrant {
  readonly collections = new Map<string, Map<string, StoredPoint>>();
  /** Largest number of points of a page. */
  mostPerPage = Infinity;
  private server!: LoopbackServer;

  static async start(): Promise<StandInQdrant> {
    const qdrant = new StandInQdrant();
    qdrant.server = await LoopbackServer.start((request, response) => {
      try {
        const result = qdrant.answer(request);
        return result === undefined
          ? json({ status: { error: 'Not found' } }, 404)(request, response)
          : json({ result, status: 'ok', time: 0 })(request, response);
      } catch (error) {
        return json({ status: { error: (error as Error).message } }, 400)(request, response);
      }
    });
    return qdrant;
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): LoopbackRequest[] {
    return this.server.requests;
  }

  get points(): StoredPoint[] {
    return [...this.collections.values()].flatMap((points) => [...points.values()]);
  }

  stop(): Promise<void> {
    return this.server.close();
  }

  /** Undefined results in 404. */
  private answer({ method, path, body }: LoopbackRequest): unknown {
    const [, root, name, ...rest] = path.split('/');
    if (root === '') return { title: 'qdrant', version: '1.19.0' };
    if (root !== 'collections') return undefined;
    if (name === undefined) return { collections: [...this.collections.keys()].map((known) => ({ name: known })) };
    const points = this.collections.get(name);
    const verb = `${method} ${rest.join('/')}`.trim();
    if (verb === 'GET exists') return { exists: points !== undefined };
    if (verb === 'PUT') {
      if (points) throw new Error(`Collection ${name} already exists`);
      this.collections.set(name, new Map());
      return true;
    }
    if (verb === 'DELETE') return this.collections.delete(name);
    return points && this.answerOf(points, verb, body ?? {});
  }

  private answerOf(points: Map<string, StoredPoint>, verb: string, question: QdrantRequest): unknown {
    const meant = () => [...points.values()].filter((point) => fits(point, question.filter));
    switch (verb) {
      case 'PUT points':
        for (const point of question.points as StoredPoint[]) points.set(point.id, point);
        return completed;
      case 'POST points/delete':
        if (question.points) for (const id of question.points) points.delete(id as string);
        else for (const { id } of meant()) points.delete(id);
        return completed;
      case 'POST points/payload':
        for (const { payload } of meant()) Object.assign(payload, question.payload);
        return completed;
      case 'POST points/count':
        return { count: meant().length };
      case 'POST points/query':
        return { points: [] };
      case 'POST points/scroll':
        return this.page(meant(), question);
      case 'GET':
        return { status: 'green', points_count: points.size, config: { params: {}, hnsw_config: {} } };
      case 'PATCH':
        return true;
      case 'PUT index':
        return completed;
      default:
        throw new Error(`The fake Qdrant does not support ${verb}.`);
    }
  }

  private page(found: StoredPoint[], { limit = 10, offset }: QdrantRequest) {
    const rest = found
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .filter(({ id }) => offset === undefined || offset === null || id >= offset);
    const size = Math.min(limit, this.mostPerPage);
    const points = rest.slice(0, size).map(({ id, payload }) => ({ id, payload }));
    return { points, next_page_offset: rest[size]?.id ?? null };
  }
}

function fits(point: StoredPoint, { must = [], must_not = [] }: Filter = {}): boolean {
  return (
    [must].flat().every((condition) => holds(point, condition)) &&
    ![must_not].flat().some((condition) => holds(point, condition))
  );
}

function holds({ id, payload }: StoredPoint, condition: Condition): boolean {
  if (condition.has_id) return condition.has_id.includes(id);
  if (condition.key === undefined || !condition.match)
    throw new Error(`The fake Qdrant does not support the condition ${JSON.stringify(condition)}.`);
  const { value, any = [value] } = condition.match;
  return [payload[condition.key]].flat().some((entry) => any.includes(entry));
}
