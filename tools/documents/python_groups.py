"""The public names of Python by the pages that describe them."""

from typing import NamedTuple


class Group(NamedTuple):
    """Names that one page describes."""

    page: str
    title: str
    about: str
    names: tuple[str, ...]


def _group(page: str, title: str, about: str, names: str, module: str = "crossview") -> Group:
    return Group(page, title, about, tuple(f"{module}.{name}" for name in names.split()))


GROUPS = (
    _group(
        "collections",
        "Collections and clients",
        "Open a collection of this machine, or connect to a server. Both have the same methods.",
        "open create connect __version__ Home Collection AnyCollection Client AsyncClient ClientTls CollectionInfo",
    ),
    _group(
        "services",
        "Services of a collection",
        "A collection has a service for each noun, such as `collection.items`. Programs get these objects from a "
        "collection and never construct them.",
        "collections.items.Items collections.views.Views collections.spaces.Spaces collections.maps.Maps "
        "collections.memory.Memory collections.storage.Storage findings.questions.asking.Questions "
        "findings.questions.feedback.Feedback findings.duplicates.judging.DuplicateJudgements catalog.models.Models "
        "values.map.MapRequest values.map.MapInfo values.map.MapPoints values.facet.Facet values.item.FileChanges "
        "values.labels.LabelReport values.info.ConstraintCounts values.info.Trial",
        "crossview.engine",
    ),
    _group(
        "remote",
        "Collections and jobs of a server",
        "A client returns these objects. Their methods are those of a collection of this machine, blocking or awaited: "
        "where a signature returns `Script[int]`, a method of `Client` returns an `int`, and one of `AsyncClient` must "
        "be awaited.",
        "remote_collection.RemoteCollection remote_collection.AsyncCollection remote_items.RemoteItems "
        "remote_items.RemoteViews remote_spaces.RemoteSpaces remote_spaces.RemoteMaps remote_spaces.RemoteStorage "
        "remote_judgements.RemoteQuestions remote_judgements.RemoteFeedback "
        "remote_judgements.RemoteDuplicateJudgements remote_jobs.RemoteJobs detached.DetachedCollection",
        "crossview.server.client",
    ),
    _group(
        "items",
        "Items",
        "Values that describe items, and the reports of indexing.",
        "Item NewItem ItemUpdate Picture DeletedPicture IndexOptions ImportReport Failure ValueCount ViewInfo "
        "ForeignData",
    ),
    _group(
        "search",
        "Search",
        "Queries, requests, the strategies of a search, and hits.",
        "Query SearchRequest OneQuery RequestOptions Hit HitList HitLists Nearest Moved Weighted Combined Listed "
        "Filter field Embedding ItemEmbeddings ItemNeighbors MapRequest",
    ),
    _group(
        "explanations",
        "Explanations",
        "Why an item has its place in a list of hits.",
        "ExplainRequest Explanation Contribution Agreement AgreeingPart Place",
    ),
    _group(
        "labels",
        "Suggested labels and verdicts",
        "Labels by vote of the nearest items, and the decision whether two items are the same.",
        "SuggestRequest Suggestions SuggestedLabels LabelShare LikeliestClass SameRequest Verdict CalibrationRequest "
        "Threshold",
    ),
    _group(
        "training",
        "Training",
        "All options of a training, and the facts of the space that it learns.",
        "Recipe Grouping Pair Tune SpaceInfo Tuning TrainingCost read_taxonomy",
    ),
    _group(
        "evaluation",
        "Evaluation and audit",
        "Measures of the quality of spaces, and checks of the data.",
        "EvaluationRequest Evaluation EvaluationRow EvaluationDifference PerQuery QueryExample Curve Confusion "
        "Confused Overlap AuditRequest Audit Finding",
    ),
    _group(
        "questions",
        "Questions and feedback",
        "Questions to people, their answers, and judgements of hits.",
        "QuestionRequest Question Answer ItemComparisons Judgement FeedbackInfo",
    ),
    _group(
        "changes",
        "Changes and duplicates",
        "Important changes between pictures of one page or scene, and copies of photographs.",
        "ChangesRequest Changes Change LearnedImportance PairLabel DuplicatesRequest Duplicates DuplicateGroup "
        "DuplicatePicture PairJudgement",
    ),
    _group(
        "publishing",
        "Publishing",
        "Items in an engine, what was learned in a bundle, and the collections that answer from both.",
        "publish PublishRequest PublishedCollection Milvus engine_address ObjectStorage",
    ),
    _group(
        "learners",
        "Learners: base classes",
        "The base classes that all learners share, also for learners of other packages.",
        "MultiViewLearner SeparateLearner LinearLearner Capabilities Supervision Chain check_learner present_rows "
        "Dimensions Share Rows",
        "crossview.learners",
    ),
    _group(
        "learners-subspaces",
        "Learners: subspaces",
        "Estimators that map the rows of several views to one space.",
        "CanonicalCorrelation CanonicalSimilarity PartialLeastSquares LinearDiscriminants PCA Instances "
        "ClassPosteriors ClassInstance CoEM SemanticMatching MultiNPP Hybrid",
        "crossview.learners",
    ),
    _group(
        "learners-metrics",
        "Learners: metrics and attributes",
        "Estimators that learn distances from classes or comparisons, and scores from orderings.",
        "LMNN Fantope QuadrupletWise JointMetrics MultiTaskLMNN RelativeAttributes",
        "crossview.learners",
    ),
    _group(
        "learners-codes",
        "Learners: codes",
        "Estimators whose embeddings are codes of bits.",
        "ITQ LSH NPPHash MuSL Sign",
        "crossview.learners",
    ),
    _group(
        "learners-steps",
        "Learners: steps before and after others",
        "Normalisations, kernels and inner products for the stages of a pipeline.",
        "L1 L2 Scale Sqrt Standardize KernelMap InnerProduct",
        "crossview.learners",
    ),
    _group(
        "extractors",
        "Extractors",
        "The base classes, values and checks for extractors of other packages.",
        "ImageExtractor TextExtractor Extraction Part QueryWords check_extractor check_image grey NotFittedError Image "
        "FeatureRows Labels",
        "crossview.extractors",
    ),
    _group(
        "errors",
        "Errors",
        "The errors that a user can cause. [Errors and statuses](../errors.md) states when each happens.",
        "CrossviewError AlreadyExistsError BusyError CancelledError DeadlineExceededError EmptyImageError "
        "EngineFullError EngineUnavailableError ExtractorError ImageError ImageTooLargeError InvalidInputError "
        "ModelError NotAnImageError NotEnoughMemoryError NotFoundError NotInstalledError NotReadyError OverloadedError "
        "ServerFaultError ServerStoppedError ServerUnavailableError StorageError TruncatedImageError InputWarning",
    ),
)
"""Every public name of ``crossview``, ``crossview.learners`` and ``crossview.extractors``, which a test compares."""
